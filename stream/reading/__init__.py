"""Sub-parsers for the sections of a turn."""
