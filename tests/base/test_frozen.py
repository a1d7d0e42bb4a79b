"""Values that keep their hash."""

from __future__ import annotations

import pickle

from compiler.base.frozen import KeepsHash, dataclass


@dataclass(frozen=True, slots=True)
class Pair(KeepsHash):
    """A tree."""

    left: Pair | int
    right: Pair | int


class Counted:
    """A part whose hash is asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def __hash__(self) -> int:
        self.asked += 1
        return 7


def test_equal_values_have_equal_hashes_before_and_after_they_are_kept() -> None:
    one, other = Pair(1, Pair(2, 3)), Pair(1, Pair(2, 3))
    assert one == other
    assert hash(one) == hash(one) == hash(other)
    assert {one: 5}[other] == 5
    assert one != Pair(1, Pair(2, 4))


def test_parts_are_asked_once() -> None:
    part = Counted()
    tree = Pair(Pair(part, 1), 2)  # type: ignore[arg-type]
    assert hash(tree) == hash(tree)
    assert hash(Pair(tree, tree)) == hash(Pair(tree, tree))
    assert part.asked == 1


def test_another_process_gets_no_hash() -> None:
    """Those of texts differ between processes."""
    tree = Pair(Pair(1, 2), 3)
    hash(tree)
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert not hasattr(again, "_hash")
    assert not hasattr(again.left, "_hash")
