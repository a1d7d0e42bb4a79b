"""Tests of the server and the page."""
