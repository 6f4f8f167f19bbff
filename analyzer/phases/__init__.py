"""The phases of the analysis: each reads one part of a format off renderings."""
