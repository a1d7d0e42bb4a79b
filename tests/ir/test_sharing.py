"""Classes of arrays that may share memory, against a naive partition."""

from __future__ import annotations

import random

from compiler.ir.sharing import Classes


def test_classes_are_those_of_a_naive_partition() -> None:
    """Joined, looked up and marked in any order, by long chains."""
    rng = random.Random(5)
    for _ in range(200):
        names = [f"x_{k}" for k in range(12)]
        alike = {name: {name} for name in names}
        marked: set[str] = set()
        found = Classes()
        for _ in range(rng.randint(1, 14)):
            one, other = rng.sample(names, 2)
            found.join(one, other)
            both = alike[one] | alike[other]
            alike |= dict.fromkeys(both, both)
            for name in rng.sample(names, rng.randint(0, 6)):
                found.find(name)
            if rng.random() < 0.2:
                marked.add(other)
                found.mark(other)
        for name in rng.sample(names, 12):
            assert {n for n in names if found.find(n) == found.find(name)} == alike[name]
        assert found.unique() == {n for name in marked for n in alike[name]}
