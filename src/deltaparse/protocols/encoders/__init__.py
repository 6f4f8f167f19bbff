"""Encoders that write deltas as the events of a protocol."""
