"""Wire formats: the notation of a model's turn as data, and everything computed from it."""
