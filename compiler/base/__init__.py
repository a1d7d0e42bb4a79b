"""Shared foundations that know nothing about programs: spans, errors, remarks, names, fuel."""
