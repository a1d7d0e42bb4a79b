"""Composition and complement of LMADs agree with cells that are listed one by one."""

from itertools import pairwise, product

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.algebra.layouts import complement, compose
from compiler.algebra.lmad import Dim, Lmad, NoView, unrank
from compiler.algebra.poly import Poly

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Of a busy machine."""
COUNTS = st.sampled_from([2, 3, 4, 2, 3, 4, 1, 0])
"""Seldom empty: of an empty array there is nothing to compare."""
DIMENSIONS = st.integers(0, 4)
SIZES = st.lists(st.integers(1, 5), max_size=4)


@st.composite
def lmads(draw: st.DrawFn) -> Lmad[int]:
    """Of rank 0 to 4, with sizes 0 and 1, stride 0 and negative ones."""
    dims = draw(st.lists(st.tuples(COUNTS, st.integers(-6, 6)), max_size=4))
    return Lmad(draw(st.integers(-9, 9)), tuple(Dim(*dim) for dim in dims))


def dense(lmad: Lmad[int], draw: st.DrawFn) -> list[Dim[int]]:
    """Dimensions that are often those of a row-major array, so that runs fit into each other."""
    dims = [*lmad.dims]
    for k in range(len(dims) - 1, 0, -1):
        if draw(st.booleans()):
            dims[k - 1] = Dim(dims[k - 1].size, dims[k].size * dims[k].stride)
    return dims


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Lmad[int], Lmad[int]]:
    """An LMAD, and one that stays within it."""
    outer = draw(lmads())
    outer = Lmad(outer.offset, tuple(dense(outer, draw)))
    steps = [1, -1, 0, *(abs(size) for size in outer.shape), 2, 3, 6]
    dims = [Dim(draw(COUNTS), draw(st.sampled_from(steps))) for _ in range(draw(DIMENSIONS))]
    inner = Lmad(0, tuple(dims))
    inner = Lmad(0, tuple(dense(inner, draw)))
    cells = inner.points()
    low, high = (min(cells), max(cells)) if cells else (0, -1)
    while cells and high - low >= outer.size and inner.dims:
        inner = Lmad(0, inner.dims[1:])
        cells = inner.points()
        low, high = min(cells), max(cells)
    start = draw(st.integers(0, max(0, outer.size - 1 - high + low))) - low
    return outer, Lmad(start, inner.dims)


def listed(outer: Lmad[int], inner: Lmad[int]) -> list[int]:
    return [outer.index(*unrank(outer.shape, flat, divmod)) for flat in inner.points()]


def is_one(shape: tuple[int, ...], cells: list[int]) -> bool:
    """Whether some LMAD of this shape has these cells: the steps along each dimension are equal."""
    points = list(product(*map(range, shape)))
    at = dict(zip(points, cells, strict=True))
    if not points:
        return True
    first = at[points[0]]
    units = [tuple(int(j == k) for j in range(len(shape))) for k in range(len(shape))]
    steps = [at[unit] - first if size > 1 else 0 for unit, size in zip(units, shape, strict=True)]
    return all(
        cell == first + sum(i * s for i, s in zip(point, steps, strict=True))
        for point, cell in at.items()
    )


def carries(lmad: Lmad[int]) -> int:
    dims = [dim for dim in lmad.dims if dim.size != 1]
    return sum(outer.stride != inner.size * inner.stride for outer, inner in pairwise(dims))


@PATIENT
@given(pairs())
def test_a_composition_has_the_cells_of_one_after_the_other(
    two: tuple[Lmad[int], Lmad[int]],
) -> None:
    outer, inner = two
    if not outer.size:
        return
    cells = listed(outer, inner)
    found = compose(outer, inner)
    if isinstance(found, Lmad):
        assert found.shape == inner.shape
        assert found.points() == cells
    else:
        assert not is_one(inner.shape, cells) or carries(outer) > 1


@PATIENT
@given(pairs())
def test_what_is_composed_of_names_holds_for_their_values(
    two: tuple[Lmad[int], Lmad[int]],
) -> None:
    """Over polynomials that are constants, composition finds no LMAD that ints do not have."""
    outer, inner = two
    if not outer.size:
        return
    found = compose(as_polynomials(outer), as_polynomials(inner))
    if isinstance(found, Lmad):
        assert found.evaluate({}).points() == listed(outer, inner)


def as_polynomials(lmad: Lmad[int]) -> Lmad[Poly]:
    dims = tuple(Dim(Poly.const(dim.size), Poly.const(dim.stride)) for dim in lmad.dims)
    return Lmad(Poly.const(lmad.offset), dims)


def test_two_quotients_that_are_none_may_add_up_to_one() -> None:
    """What the test of composition misses: cells 0, 5 and 10, by carries that cancel."""
    outer, inner = Lmad(0, (Dim(2, 10), Dim(3, 2), Dim(2, 3))), Lmad(0, (Dim(3, 3),))
    assert listed(outer, inner) == [0, 5, 10]
    assert carries(outer) == 2
    assert isinstance(compose(outer, inner), NoView)


N, M, K = map(Poly.var, ("n", "m", "k"))
ONE = Poly.const(1)


def test_a_transposition_flattened_and_unflattened_is_one_lmad_again() -> None:
    turned = Lmad.row_major([N, M]).permute([1, 0])
    assert isinstance(compose(turned, Lmad.row_major([M * N])), NoView)
    back = compose(turned, Lmad.row_major([M, N]))
    assert isinstance(back, Lmad)
    assert back == turned
    row = compose(turned, Lmad.row_major([M * N]).slice(0, K * N, N, ONE))
    assert row == Lmad(K, (Dim(N, M),))
    reversed_row = compose(turned, Lmad(K * N + N - 1, (Dim(N, -ONE),)))
    assert reversed_row == Lmad(K + (N - 1) * M, (Dim(N, -M),))


@PATIENT
@given(lmads(), st.integers(0, 60))
def test_a_complement_tiles_the_block(lmad: Lmad[int], count: int) -> None:
    found = complement(lmad, [count])
    if isinstance(found, Lmad):
        both = [a + b for a in lmad.points() for b in found.points()]
        assert sorted(both) == list(range(count))


@PATIENT
@given(SIZES, st.permutations(range(4)), st.sets(st.integers(0, 3)), st.integers(0, 3))
def test_parts_of_an_array_have_their_complements(
    shape: list[int], order: list[int], kept: set[int], flipped: int
) -> None:
    """Some dimensions of a row-major array, in any order and direction, leave the others."""
    whole = Lmad.row_major(shape, 0)
    dims = [whole.dims[k] for k in order if k < len(shape) and k in kept]
    start = 0
    if dims:
        k = flipped % len(dims)
        start = (dims[k].size - 1) * dims[k].stride
        dims[k] = Dim(dims[k].size, -dims[k].stride)
    part = Lmad(start, tuple(dims))
    found = complement(part, shape)
    assert isinstance(found, Lmad)
    assert sorted(a + b for a in part.points() for b in found.points()) == whole.points()


def test_a_column_is_moved_along_the_row() -> None:
    matrix = Lmad.row_major([N, M])
    column = matrix.permute([1, 0]).fix(K)
    assert complement(column, [N, M]) == Lmad(-K, (Dim(M, ONE),))
    assert complement(matrix.fix(K), [N, M]) == Lmad(-K * M, (Dim(N, M),))
    every = complement(Lmad.row_major([2 * N]).slice(0, Poly.const(0), N, Poly.const(2)), [2 * N])
    assert every == Lmad(Poly.const(0), (Dim(Poly.const(2), ONE),))
    assert isinstance(complement(Lmad(Poly.const(0), (Dim(N, M),)), [N * M + 1]), NoView)
