"""Loading, compiling and sandboxed rendering of chat templates."""
