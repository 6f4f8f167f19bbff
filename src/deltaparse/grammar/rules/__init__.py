"""Grammar rules as data, in no notation."""
