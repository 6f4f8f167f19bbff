"""Python literals that are not all there yet, written as JSON while they come."""
