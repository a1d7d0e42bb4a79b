"""The processes and devices that run programs."""
