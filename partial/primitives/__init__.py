"""Parsers for users: healing, pushed JSON values, reversed search."""
