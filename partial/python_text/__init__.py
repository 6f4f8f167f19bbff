"""Incomplete Python literals, written as JSON while they stream."""
