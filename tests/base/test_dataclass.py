"""Dataclasses as `dataclasses` has them, and values that keep their hash."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import KW_ONLY, field
from functools import partial
from typing import Any, ClassVar

import pytest

from compiler.base.dataclass import KeepsHash, dataclass


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


# --- as `dataclasses` has them ---


def classes(make: Callable[..., Any]) -> dict[str, Any]:
    """Classes with all that ours have, made by one of the two."""

    @make(frozen=True, slots=True)
    class Empty:
        """Without fields."""

    @make(frozen=True, slots=True)
    class Point:
        size: ClassVar[int] = 7
        x: int
        y: int = 3

        def sum(self) -> int:
            return self.x + self.y

    @make(frozen=True, slots=True)
    class Named(Point):
        name: str = "q"
        y: int = 4
        place: int = field(default=0, compare=False)

    @make(frozen=True, slots=True, kw_only=True)
    class Asked(Point):
        first: int
        second: int = 9

    @make(frozen=True, slots=True)
    class Behind(Asked):
        z: int = 1
        _: KW_ONLY
        last: tuple[int, ...] = ()

    @make(frozen=True, slots=True)
    class Hashed:
        x: int

        def __hash__(self) -> int:
            return 5

    @make(frozen=True, slots=True)
    class Equal:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

    @make(slots=True)
    class State:
        seen: list[int] = field(default_factory=list)
        count: int = field(default=2, kw_only=True)
        total: int = field(init=False)
        shown: str = field(default="", repr=False)
        more: dict[str, int] = field(init=False, default_factory=dict)

        def __post_init__(self) -> None:
            self.total = len(self.seen) + self.count

    @make(slots=True)
    class Further(State):
        further: int = 0

    @make(slots=True, eq=False)
    class Alone:
        x: int

    @make(frozen=True, slots=True, eq=False)
    class FrozenAlone:
        x: int

    return {name: one for name, one in locals().items() if name != "make"}


def theirs(**options: Any) -> Any:
    frozen = options.pop("frozen", False)
    return dataclasses.dataclass(**options, unsafe_hash=False, frozen=frozen)


OURS, THEIRS = classes(dataclass), classes(theirs)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    (name, args, options)
    for name in OURS
    for args in ((), (1,), (1, 2), ([4, 5],), (1, 2, "r"), (1, 2, "r", 8))
    for options in ({}, {"y": 5}, {"first": 6}, {"first": 6, "last": (1,)}, {"count": 1}, {"q": 0})
]


def outcome(do: Callable[[], Any]) -> Any:
    """What it gives, or which error."""
    try:
        return do()
    except (TypeError, AttributeError) as error:
        return type(error).__name__


def facts(one: Any, same: Any, other: Any) -> list[Any]:
    """What can be told of a value, next to an equal one and to one of another class."""
    cls = type(one)
    names = [field.name for field in dataclasses.fields(one)]
    return [
        repr(one),
        names,
        cls.__match_args__,
        cls.__slots__,
        [getattr(one, name) for name in names],
        one == same,
        one == other,
        outcome(lambda: hash(one) == hash(same)),
        outcome(lambda: dataclasses.asdict(one)),
        outcome(lambda: repr(dataclasses.replace(one, y=11))),
        repr(copy.deepcopy(one)),
        hasattr(one, "__dict__"),
        [(f.name, f.type, f.init, f.compare, f.repr, f.kw_only) for f in dataclasses.fields(cls)],
        outcome(lambda: [*inspect.signature(cls).parameters]),
    ]


def test_values_are_those_of_dataclasses() -> None:
    made = 0
    for name, args, options in CALLS:
        ours, twins = (
            outcome(partial(family[name], *args, **options)) for family in (OURS, THEIRS)
        )
        if isinstance(twins, str):
            assert ours == twins, (name, args, options)
            continue
        made += 1
        of_ours = facts(ours, OURS[name](*args, **options), OURS["Empty"]())
        assert of_ours == facts(twins, THEIRS[name](*args, **options), THEIRS["Empty"]())
    assert made >= 40


def test_what_compares_and_what_does_not() -> None:
    named = OURS["Named"]
    assert named(1, place=3) == named(1, place=4)
    assert named(1) != named(2)
    assert hash(named(1, place=3)) == hash(named(1, place=4))
    assert OURS["Alone"](1) != OURS["Alone"](1)
    nan = float("nan")
    assert OURS["Point"](nan) == OURS["Point"](nan), "the same value, as in a tuple"


def test_a_default_that_can_change_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Wrong\.x: a default that can change"):

        @dataclass(slots=True)
        class Wrong:
            x: list[int] = []


def test_a_field_without_a_default_comes_first() -> None:
    with pytest.raises(TypeError, match="a field without a default is behind one that has one"):

        @dataclass(slots=True)
        class Wrong:
            x: int = 0
            y: int
