"""What comes out: deltas, the message they add up to, and the policies that decide."""
