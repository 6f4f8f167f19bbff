"""Requests of the protocols as input of a template, and back."""
