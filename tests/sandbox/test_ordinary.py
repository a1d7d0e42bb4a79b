"""The same walls, for an ordinary user: whoever runs the tests as root would not see them fall."""

from __future__ import annotations

import pytest

from tests.sandbox import ordinary

WHAT = "limits or bounded or refused or killed or reaches"
"""Of the tests around this one: what a program or a worker tries, and what it may have."""


@pytest.mark.skipif("ordinary.why_not()")
def test_the_walls_hold_for_an_ordinary_user() -> None:
    done = ordinary.run("-k", WHAT)
    assert done.returncode == 0, done.stdout
