"""JSON that is not all there yet: lexed, emitted, repaired, healed, and read for its values."""
