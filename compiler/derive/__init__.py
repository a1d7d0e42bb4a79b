"""Derivatives: the stage `ad`, which makes programs of `jvp` and `vjp`."""
