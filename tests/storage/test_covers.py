"""Many sets of cells as few: nothing is left out, and nothing is proved that is false."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.algebra.disjoint import prove_beyond
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.storage.short_circuit.covers import Cover, IsSize, covers

N, M = Poly.var("n"), Poly.var("m")


def cells(lmad: Lmad[Poly], n: int, m: int) -> set[int]:
    return set(lmad.evaluate({"n": n, "m": m}).points())


def some(seed: int, count: int) -> list[Lmad[Poly]]:
    """Sets of a few shapes, many of them neighbours or at equal distances."""
    rng = random.Random(seed)
    shapes = [(), (Dim(M, Poly.const(1)),), (Dim(N, M),), (Dim(Poly.const(2), M), Dim(M, N))]
    units = [Poly.const(1), M, N * M]
    base = rng.choice([Poly.const(0), N])
    found = []
    for _ in range(count):
        offset = base + rng.choice(units) * rng.randint(-4, 9)
        found.append(Lmad(offset, rng.choice(shapes)))
    return found


def of(base: Lmad[Poly], sets: list[Lmad[Poly]], is_size: IsSize) -> list[Cover[int]]:
    """Covers of sets, each of which is known by its number."""
    return [*covers([Cover(one, 1, k) for k, one in enumerate(sets)], is_size, base)]


@settings(deadline=None)
@given(st.integers(0, 1 << 30), st.integers(1, 14), st.integers(0, 3), st.integers(0, 3))
def test_each_set_is_in_its_cover_and_in_one_half(seed: int, count: int, n: int, m: int) -> None:
    sets = some(seed, count)
    base = some(seed + 1, 1)[0]
    todo = of(base, sets, lambda size: size in (N, M) or size.constant is not None)
    assert sorted(k for cover in todo for k in cover.members) == list(range(count))
    while todo:
        cover = todo.pop()
        held = cells(cover.cells, n, m)
        assert all(cells(sets[k], n, m) <= held for k in cover.members)
        halves = cover.halves()
        if halves:
            assert sorted(k for h in halves for k in h.members) == sorted(cover.members)
            assert all(len(half.members) < len(cover.members) for half in halves)
        todo += halves


def test_what_may_be_a_negative_number_joins_nothing() -> None:
    """From 5 on -3 cells, then 4: together they are not 1 cell from 5 on."""
    first = Lmad(Poly.const(5), (Dim(N, Poly.const(1)),))
    second = Lmad(Poly.const(5) + N, (Dim(M, Poly.const(1)),))
    base = Lmad(Poly.const(100), ())
    joined = of(base, [first, second], lambda size: True)
    apart = of(base, [first, second], lambda size: False)
    assert [cover.members for cover in joined] == [[0, 1]]
    assert cells(joined[0].cells, 2, 4) == set(range(5, 11))
    assert sorted(cover.members for cover in apart) == [[0], [1]]


def test_rows_of_a_matrix_are_two_blocks_of_rows() -> None:
    """However many rows there are, those before and those behind another one."""
    sets = [Lmad(M * k, (Dim(M, Poly.const(1)),)) for k in range(300) if k != 140]
    base = Lmad(M * 140, (Dim(M, Poly.const(1)),))
    found = of(base, sets, lambda size: True)
    assert sorted(len(cover.members) for cover in found) == [140, 159]
    assert all(prove_beyond(base, cover.cells) for cover in found)


@settings(deadline=None)
@given(st.integers(0, 1 << 30))
def test_what_lies_beyond_has_no_cell_in_common(seed: int) -> None:
    first, second = some(seed, 2)
    if prove_beyond(first, second) is not None:
        for n in range(4):
            for m in range(4):
                assert cells(first, n, m).isdisjoint(cells(second, n, m))


def test_a_cover_that_is_too_large_is_cut_until_it_fits() -> None:
    """Every second row, and a write to the row between two of them."""
    sets = [Lmad(M * (2 * k), (Dim(M, Poly.const(1)),)) for k in range(10)]
    base = Lmad(M * 7 + 1, (Dim(M - 1, Poly.const(1)),))
    todo: list[Cover[int]] = of(base, sets, lambda size: True)
    shown: list[int] = []
    while todo:
        cover = todo.pop()
        if prove_beyond(base, cover.cells) is not None:
            shown += cover.members
        else:
            assert len(cover.members) > 1
            todo += cover.halves()
    assert sorted(shown) == list(range(10))
