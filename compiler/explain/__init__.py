"""Explanations beyond a stage's text: cells, lifetimes, interference, accesses, bounds."""
