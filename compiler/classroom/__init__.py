"""Lessons and puzzles: measure what they say of programs, and score what students write."""
