"""Programs and workers that try to get out."""
