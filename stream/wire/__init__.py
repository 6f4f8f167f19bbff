"""The wire format: how a model writes a turn, as data, and what follows from it."""
