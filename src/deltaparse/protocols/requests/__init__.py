"""Requests of the protocols as what a template takes, and back."""
