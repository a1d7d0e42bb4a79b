"""The order of stages, the targets, and every question that may be asked of a program."""
