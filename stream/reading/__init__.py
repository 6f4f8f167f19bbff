"""The sub-parsers that read a turn, section by section."""
