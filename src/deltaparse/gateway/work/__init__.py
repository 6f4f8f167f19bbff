"""Processes that do the work of a request whose time depends on the client: they can be ended."""
