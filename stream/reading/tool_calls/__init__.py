"""Readers of tool calls, one module for each family of wire forms."""
