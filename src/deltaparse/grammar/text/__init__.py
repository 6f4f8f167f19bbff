"""Rules for texts: JSON strings, numbers, patterns, Python literals."""
