"""The parts of `docs/figures.md`, by subject."""
