"""Regular expressions with three answers: found, may still be found, absent."""
