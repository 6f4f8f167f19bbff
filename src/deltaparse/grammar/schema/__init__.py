"""JSON Schema as grammar rules."""
