"""Grammars of an assistant turn, from a wire format and a request."""
