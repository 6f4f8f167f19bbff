"""The grammar of a turn: what a wire format and a request allow."""
