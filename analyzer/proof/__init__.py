"""The proof of a format: conversations rendered and parsed back."""
