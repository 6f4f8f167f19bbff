"""Decoders: a stream of events, or a complete response, to a `Message`."""
