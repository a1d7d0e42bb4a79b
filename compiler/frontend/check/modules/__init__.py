"""Modules, their types, and what applying one to another gives."""
