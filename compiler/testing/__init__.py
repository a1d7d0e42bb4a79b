"""Test blocks of programs: parse them, make their values, run them, compare results."""
