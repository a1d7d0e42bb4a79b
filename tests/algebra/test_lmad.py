"""LMADs point where NumPy's views point, over ints and, symbolically, over polynomials."""

import itertools

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from compiler.algebra.lmad import Dim, Lmad, NoView, Num
from compiler.algebra.poly import Poly

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3)
VIEWS = st.lists(
    st.tuples(
        st.sampled_from(["flip", "slice", "stride", "swap", "fix", "flatten", "regroup", "lmad"]),
        st.integers(0, 99),
    ),
    max_size=5,
)
LMADS = st.builds(
    lambda offset, dims: Lmad(offset, tuple(Dim(s, d) for s, d in dims)),
    st.integers(-20, 20),
    st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=3),
)


def transposed(lmad: Lmad[Num]) -> Lmad[Num]:
    return lmad.permute((1, 0, *range(2, lmad.rank)))


def view(kind: str, seed: int, arr: np.ndarray, lmad: Lmad[int]) -> tuple[np.ndarray, Lmad[int]]:
    """The same view of an array of cell numbers and of its LMAD."""
    k = seed % arr.ndim
    n = arr.shape[k]
    at = seed % n
    match kind:
        case "flip":
            return np.flip(arr, k), lmad.slice(k, n - 1, n, -1)
        case "slice":
            return arr.take(range(at, n), k), lmad.slice(k, at, n - at, 1)
        case "stride":
            return arr.take(range(at, n, 2), k), lmad.slice(k, at, (n - at + 1) // 2, 2)
        case "swap":
            perm = [int(p) for p in np.roll(range(arr.ndim), k)]
            return arr.transpose(perm), lmad.permute(perm)
        case "fix" if arr.ndim > 1:
            return arr.take(at, k), lmad.permute([k, *(p for p in range(arr.ndim) if p != k)]).fix(
                at
            )
        case "lmad" if n % 2 == 0:
            halves = [Lmad(0, (Dim(size, 1),)) for size in arr.shape]
            halves[k] = Lmad(0, (Dim(2, n // 2), Dim(n // 2, 1)))
            shape = (*arr.shape[:k], 2, n // 2, *arr.shape[k + 1 :])
            return arr.reshape(shape), lmad.slice_lmad(*halves)
        case "flatten" | "regroup":
            shapes = [
                (arr.size,),
                (1, arr.size),
                (arr.size // 2, 2),
                (2, arr.size // 2),
                (arr.size, 1),
            ]
            shape = shapes[0] if kind == "flatten" else shapes[seed % len(shapes)]
            if np.prod(shape) == arr.size and isinstance(flat := lmad.reshape(shape), Lmad):
                return arr.reshape(shape), flat
    return arr, lmad


@given(SHAPES, VIEWS)
def test_views_point_where_numpy_points(shape: list[int], views: list[tuple[str, int]]) -> None:
    arr, lmad = np.arange(np.prod(shape)).reshape(shape), Lmad.row_major(shape)
    for kind, seed in views:
        arr, lmad = view(kind, seed, arr, lmad)
    assert lmad.shape == arr.shape
    assert lmad.points() == arr.ravel().tolist()
    assert [lmad.index(*p) for p in np.ndindex(*arr.shape)] == arr.ravel().tolist()
    assert [lmad.fix(*p).offset for p in np.ndindex(*arr.shape)] == arr.ravel().tolist()
    assert lmad.size == arr.size


@given(SHAPES, VIEWS, SHAPES)
def test_reshape_is_a_view_exactly_where_numpy_needs_no_copy(
    shape: list[int], views: list[tuple[str, int]], target: list[int]
) -> None:
    arr, lmad = np.arange(np.prod(shape)).reshape(shape), Lmad.row_major(shape)
    for kind, seed in views:
        arr, lmad = view(kind, seed, arr, lmad)
    target = [*target, arr.size // int(np.prod(target))]
    assume(np.prod(target) == arr.size)
    # NumPy's strides, unlike `take`'s fresh copies, must be those of the LMAD.
    block = np.arange(np.prod(shape))
    first = lmad.offset * block.itemsize
    strides = [s * block.itemsize for s in lmad.strides]
    seen = np.ndarray(arr.shape, block.dtype, block.data, first, strides)
    moved = lmad.reshape(target)
    possible = np.shares_memory(seen.reshape(target), block)
    assert isinstance(moved, Lmad) == possible
    if isinstance(moved, Lmad):
        assert moved.points() == arr.ravel().tolist()


@given(
    st.tuples(st.integers(-3, 3), st.integers(-5, 5), st.integers(0, 3), st.integers(-5, 5)),
    st.integers(-3, 3),
    st.integers(0, 4),
)
def test_expand_is_the_union_over_the_iterations(
    numbers: tuple[int, int, int, int], lower: int, count: int
) -> None:
    factor, offset, size, stride = numbers
    i = Poly.var("i")
    inner = Lmad(i * factor + offset, (Dim(Poly.const(size), Poly.const(stride)),))
    wide = inner.expand("i", Poly.const(lower), Poly.const(count))
    assert wide is not None
    each = [inner.evaluate({"i": v}).points() for v in range(lower, lower + count)]
    assert wide.evaluate({}).points() == [cell for cells in each for cell in cells]


def test_expand_refuses_what_is_not_linear() -> None:
    i, n = Poly.var("i"), Poly.var("n")
    one = Poly.const(1)
    assert Lmad(i * i, (Dim(n, one),)).expand("i", Poly.const(0), n) is None
    assert Lmad(n, (Dim(i, one),)).expand("i", Poly.const(0), n) is None
    assert Lmad(n, (Dim(n, i),)).expand("i", Poly.const(0), n) is None


@given(SHAPES, VIEWS, st.permutations([2, 3, 5]))
def test_polynomials_and_ints_agree(
    shape: list[int], views: list[tuple[str, int]], primes: list[int]
) -> None:
    names = ("n", "m", "k")[: len(shape)]
    env = dict(zip(("n", "m", "k"), primes, strict=True))
    symbolic = Lmad.row_major([Poly.var(name) for name in names])
    concrete = Lmad.row_major([env[name] for name in names])
    for kind, seed in views:
        k = seed % concrete.rank
        n, size = concrete.shape[k], symbolic.shape[k]
        if kind == "flip":
            concrete = concrete.slice(k, n - 1, n, -1)
            symbolic = symbolic.slice(k, size - 1, size, Poly.const(-1))
        elif kind == "slice":
            concrete, symbolic = (
                concrete.slice(k, 1, n - 1, 1),
                symbolic.slice(k, Poly.const(1), size - 1, Poly.const(1)),
            )
        elif kind == "swap" and concrete.rank > 1:
            concrete, symbolic = transposed(concrete), transposed(symbolic)
        elif kind == "flatten":
            flat = symbolic.reshape([symbolic.size])
            if isinstance(flat, Lmad):
                moved = concrete.reshape([concrete.size])
                assert isinstance(moved, Lmad)
                concrete, symbolic = moved, flat
    found = symbolic.evaluate(env)
    empty = any(size <= 0 for size in concrete.shape)  # Its strides say nothing.
    assert found.shape == concrete.shape
    assert empty or found.same_cells(concrete)


def test_layouts_have_names() -> None:
    n, m = Poly.var("n"), Poly.var("m")
    matrix = Lmad.row_major([n, m])
    assert str(matrix) == "0 + {(n : m), (m : 1)}"
    assert matrix.is_row_major()
    assert not transposed(matrix).is_row_major()
    assert matrix.fix(Poly.var("i")) == Lmad.row_major([m], Poly.var("i") * m)
    assert Lmad(n, (Dim(Poly.const(1), m), Dim(m, Poly.const(1)))).is_row_major()
    assert matrix.names() == {"n", "m"}
    assert matrix.subst({"k": n}) is matrix
    assert matrix.subst({"m": Poly.const(3)}) == Lmad.row_major([n, Poly.const(3)])


def test_reshape_says_why_not() -> None:
    n, m = Poly.var("n"), Poly.var("m")
    flat = transposed(Lmad.row_major([n, m])).reshape([n * m])
    assert isinstance(flat, NoView)
    assert flat.because() == (
        "its rows are 1 cells apart, and a row's n elements at stride m do not fill that "
        "distance evenly"
    )
    other = Lmad.row_major([n]).reshape([m, Poly.const(2)])
    assert isinstance(other, NoView)
    assert other.because() == "the products of [n] and [m][2] are not the same polynomial"


def test_reshape_keeps_outer_strides() -> None:
    """A column block of a matrix can be unflattened row by row without a copy."""
    n, m, b = Poly.var("n"), Poly.var("m"), Poly.var("b")
    rows = Lmad.row_major([n, 2 * m * b]).slice(1, Poly.const(0), m * b, Poly.const(1))
    seen = rows.reshape([n, m, b])
    assert isinstance(seen, Lmad)
    assert seen.strides == (2 * m * b, b, 1)
    assert isinstance(rows.reshape([n * m * b]), NoView)


def test_ends_are_the_outermost_corners() -> None:
    """Of strides of both signs, of none, of sizes 1; in time that grows with the rank alone."""
    for dims in itertools.product([Dim(1, 7), Dim(3, 5), Dim(2, -4), Dim(4, 0)], repeat=3):
        lmad = Lmad(10, dims)
        cells = lmad.points()
        assert lmad.ends() == (min(cells), max(cells))
        assert lmad.ends() == (min(lmad.corners()), max(lmad.corners()))
    assert Lmad(0, (Dim(2, -1), Dim(2, 2)) * 100).ends() == (-100, 200)


def test_the_printed_normalisation_is_wrong() -> None:
    """Procedure 3.3 adds size*stride + 1; that is right for a stride of -1 only (errata)."""
    lmad = Lmad(16, (Dim(4, -2),))
    assert min(lmad.points()) == min(lmad.corners()) == 10
    assert sorted(lmad.points()) == Lmad(10, (Dim(4, 2),)).points()
    printed = 16 + 4 * -2 + 1
    assert printed not in lmad.points()


def test_one_more_dimension_of_a_single_element_changes_no_cell() -> None:
    lmad = Lmad(3, (Dim(2, 10), Dim(4, -1)))
    for k in range(3):
        wider = lmad.with_single(k)
        assert wider.points() == lmad.points()
        assert wider.shape == (*lmad.shape[:k], 1, *lmad.shape[k:])
        assert wider.reshape(lmad.shape) == lmad
    assert Lmad.row_major((4, 5)).with_single(0) == Lmad.row_major((1, 4, 5))
