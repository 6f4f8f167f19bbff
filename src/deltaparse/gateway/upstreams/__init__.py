"""Servers of raw completions: what each is asked, and how it answers."""
