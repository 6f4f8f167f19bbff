"""Deltas, messages, issues and policies of a turn."""
