"""JSON that is not all there yet: lexed, passed on, repaired, healed, scanned for values."""
