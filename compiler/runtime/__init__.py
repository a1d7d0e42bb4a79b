"""Processes and devices that run programs."""
