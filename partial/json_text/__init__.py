"""Incomplete JSON: lexed, emitted, repaired, healed, and read for its values."""
