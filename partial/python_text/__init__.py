"""Python literals that are not all there yet, emitted as JSON while they come."""
