"""The pipeline of stages, the targets, and every operation on a program."""
