"""Test blocks of programs: what they say, the values that they name, and what differs."""
