"""The command `deltaparse`: `main` finds the subcommand, each of which has a module."""
