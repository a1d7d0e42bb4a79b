"""Warnings: legal code that its author probably did not intend."""
