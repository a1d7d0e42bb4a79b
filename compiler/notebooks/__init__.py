"""Literate programs: run their directives, and make pages of what they give."""
