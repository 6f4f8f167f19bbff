"""What a stream of events, or a whole response, comes to: a `Message` again."""
