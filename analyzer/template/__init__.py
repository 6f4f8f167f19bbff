"""Chat templates: loaded, compiled, and rendered within limits."""
