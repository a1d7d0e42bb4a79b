"""A statement that moves pushes down what depends on it, and each of those once."""

from __future__ import annotations

import random
from itertools import count

import pytest

from compiler.ir.nodes import Assert, Lit, Stm
from compiler.optimise.fuse import graph as graphs
from compiler.optimise.fuse.graph import Above, Node

STM = Stm((), Assert(Lit(True, "bool"), ("",)))
STEP = 1 / 1024


class Watched(Node):
    """A node that counts how often it is asked what comes after it."""

    __slots__ = ("asked", "users")

    def __init__(self, at: int) -> None:
        self.asked = 0
        self.users: set[Node] = set()
        super().__init__(STM, at, set())

    @property
    def after(self) -> set[Node]:  # type: ignore[override]
        self.asked += 1
        return self.users

    @after.setter
    def after(self, users: set[Node]) -> None:
        self.users = users


def made(edges: list[tuple[int, int]], size: int) -> list[Watched]:
    nodes = [Watched(at) for at in range(size)]
    for one, other in edges:
        nodes[one].users.add(nodes[other])
        nodes[other].before.add(nodes[one])
    return nodes


def settled(nodes: list[Watched]) -> list[float]:
    """The ranks by the rule alone: as long as an edge does not grow, its end goes down."""
    ranks = [node.rank for node in nodes]
    for _ in count():
        before = list(ranks)
        for node in nodes:
            for user in node.users:
                if ranks[user.at] <= ranks[node.at]:
                    ranks[user.at] = ranks[node.at] + STEP
        if ranks == before:
            return ranks
    raise AssertionError


@pytest.mark.parametrize("seed", range(40))
def test_ranks_are_those_that_the_rule_gives(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(2, 25)
    edges = [(a, b) for b in range(size) for a in range(b) if rng.random() < 0.25]
    nodes = made(edges, size)
    moved = nodes[rng.randrange(size)]
    moved.rank = float(rng.randint(moved.at, size))
    wanted = settled(nodes)
    graphs._push_down(moved)
    assert [node.rank for node in nodes] == wanted
    assert all(node.asked <= 1 for node in nodes)


def test_a_chain_that_also_hangs_on_what_moved_is_looked_at_once() -> None:
    size = 300
    edges = [(0, k) for k in range(1, size)] + [(k, k + 1) for k in range(1, size - 1)]
    nodes = made(edges, size)
    nodes[0].rank = float(size)
    graphs._push_down(nodes[0])
    assert [node.rank for node in nodes] == [size + k * STEP for k in range(size)]
    assert sum(node.asked for node in nodes) == size


def test_of_several_statements_between_two_the_first_in_the_text_is_named() -> None:
    """Also where all of them have been pushed down to one rank."""
    between = range(1, 30)
    nodes = made([edge for at in between for edge in ((0, at), (at, 30))], 31)
    for at in between:
        nodes[at].rank = 29.0
    assert Above(nodes[30]).through(nodes[0]) is nodes[1]
