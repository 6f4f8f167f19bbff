"""Grammars written in the notations of samplers."""
