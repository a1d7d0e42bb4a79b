"""Warnings: what a program may do, and its author probably did not mean."""
