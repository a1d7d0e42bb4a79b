"""Make random tuning trees with run times, to test the autotuner.

A branch compares an amount with its threshold, and takes the version of its own or what is further
down. Each step of a data set has amounts of its own; a data set with several steps is one of a
program whose amounts vary in a run. Times obey the assumption of the thesis (definition 7.4.1) or,
in a tree that is broken, do not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compiler.protocol.storage import Forest, TreeNode
from compiler.testing.tune import Outcome


@dataclass(frozen=True, slots=True)
class Node:
    """A branch with two sides, or a version (no threshold)."""

    threshold: str = ""
    then: Node | None = None
    orelse: Node | None = None
    crossing: int = 0
    """The amount of parallelism from which on its version is the faster one."""
    factors: tuple[float, float] = (1.0, 1.0)
    """Time of its own best over the best further down: beyond the crossing, and before it."""
    rising: bool = True
    """If not, the assumption is broken: before the crossing it is the faster one."""

    def branches(self) -> Iterator[Node]:
        """All branches, outer ones first."""
        if self.threshold and self.then and self.orelse:
            yield self
            yield from self.then.branches()
            yield from self.orelse.branches()


Step = Mapping[str, int]
"""Amounts by threshold."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """A tree with data sets, each of some steps, that runs in no time."""

    tree: Node
    data_sets: tuple[tuple[Step, ...], ...]

    def forest(self) -> list[Forest]:
        """The tree as the compiler tells it."""
        return [{"function": "main", "trees": [_shown(self.tree)]}]

    def run(self, number: int, thresholds: Mapping[str, int]) -> Outcome:
        """One run."""
        compared: dict[str, list[int]] = {}
        total = 0.0
        for step in self.data_sets[number]:
            total += _time(self.tree, step, 1.0, thresholds, compared)
        return Outcome(total, compared)

    def best(self, number: int) -> float:
        """The time with the fastest version in each step."""
        return sum(_best(self.tree, step, 1.0) for step in self.data_sets[number])


def _time(
    node: Node,
    step: Step,
    unit: float,
    thresholds: Mapping[str, int],
    compared: dict[str, list[int]],
) -> float:
    if not node.threshold or node.then is None or node.orelse is None:
        return unit
    amount = step[node.threshold]
    compared.setdefault(node.threshold, []).append(amount)
    if amount >= thresholds[node.threshold]:
        return _time(node.then, step, _unit(node, step, unit), thresholds, compared)
    return _time(node.orelse, step, unit, thresholds, compared)


def _unit(node: Node, step: Step, unit: float) -> float:
    """Return the unit time of a branch's own versions from the best time further down."""
    assert node.then is not None
    assert node.orelse is not None
    later = (step[node.threshold] >= node.crossing) == node.rising
    wanted = _best(node.orelse, step, unit) * node.factors[0 if later else 1]
    return wanted / _best(node.then, step, 1.0)


def _best(node: Node, step: Step, unit: float) -> float:
    if not node.threshold or node.then is None or node.orelse is None:
        return unit
    return min(
        _best(node.then, step, _unit(node, step, unit)),
        _best(node.orelse, step, unit),
    )


def _shown(node: Node) -> TreeNode:
    if not node.threshold or node.then is None or node.orelse is None:
        return {"kind": "kernel", "spans": []}
    sides = {"then": [_shown(node.then)], "orelse": [_shown(node.orelse)]}
    return {"kind": "branch", "spans": [], "threshold": node.threshold, **sides}  # type: ignore


def random_tree(seed: int, varies: bool, broken: bool = False) -> Simulated:
    """A tree of up to six thresholds, with up to five data sets."""
    rng = random.Random(seed)
    left = rng.randint(1, 6)

    def node(depth: int) -> Node:
        nonlocal left
        if not left or (depth and rng.random() < 0.3):
            return Node()
        left -= 1
        name = f"t{left}"
        faster, slower = rng.uniform(0.2, 0.9), rng.uniform(1.1, 5)
        orelse, then = node(depth + 1), node(depth + 1) if rng.random() < 0.4 else Node()
        rising = not (broken and rng.random() < 0.5)
        return Node(name, then, orelse, rng.randint(0, 1 << 20), (faster, slower), rising)

    tree = node(0)
    names = [branch.threshold for branch in tree.branches()]

    def step() -> Step:
        return {name: int(2 ** rng.uniform(0, 21)) - 1 for name in names}

    many = rng.randint(1, 5)
    sets = [tuple(step() for _ in range(rng.randint(2, 40) if varies else 1)) for _ in range(many)]
    return Simulated(tree, tuple(sets))
