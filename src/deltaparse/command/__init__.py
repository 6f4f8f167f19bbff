"""The `deltaparse` command: `main` selects the subcommand. Each has its own module."""
