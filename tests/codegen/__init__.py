"""Tests of the imperative IR, the back ends and the runner."""
