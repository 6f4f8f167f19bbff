"""The command `deltaparse`, one module for each subcommand."""
