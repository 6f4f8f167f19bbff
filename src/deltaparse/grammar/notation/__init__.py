"""Writers for the grammar notations of samplers."""
