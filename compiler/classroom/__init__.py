"""Lessons and puzzles: measure the numbers in their texts, and score students' programs."""
