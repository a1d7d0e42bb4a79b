"""Derivatives: the stage `ad`, which expands `jvp` and `vjp` into programs."""
