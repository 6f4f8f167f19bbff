"""The `deltaparse` command: `main` selects the subcommand; each has its own module."""
