"""Grammar rules as data, independent of any notation."""
