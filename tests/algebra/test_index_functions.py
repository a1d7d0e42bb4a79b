"""Three generations of index functions point where a plain list of cells says."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.algebra.index_functions import (
    Chain,
    Composition,
    Permute,
    Reshape,
    Rotate,
    Select,
    Step,
    unify,
    view,
)
from compiler.algebra.lmad import Dim, Lmad, NoView
from compiler.algebra.poly import Poly

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Of a busy machine."""
COUNTS = st.sampled_from([2, 3, 4, 2, 3, 4, 1, 0])
BASES = st.builds(
    lambda offset, dims: Lmad(offset, tuple(Dim(*dim) for dim in dims)),
    st.integers(-20, 20),
    st.lists(st.tuples(COUNTS, st.integers(-9, 9)), max_size=4),
)
DENSE = st.lists(COUNTS, max_size=4).map(lambda shape: Lmad.row_major(shape, 0))
KINDS = st.lists(st.sampled_from(["permute", "rotate", "select", "reshape", "reshape"]), max_size=6)
RANGES = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(-3, 3))


def cells_of(lmad: Lmad[int]) -> np.ndarray:
    """The naive model: an array of the cells, which changes of layout permute and drop."""
    return np.array(lmad.points(), dtype=np.int64).reshape(lmad.shape)


def drawn(
    draw: st.DrawFn, kind: str, shape: tuple[int, ...], seen: set[tuple[int, ...]]
) -> Step[int]:
    """A step that is possible from a shape on; `seen` are shapes that the array had."""
    match kind:
        case "permute":
            return Permute(tuple(draw(st.permutations(range(len(shape))))))
        case "rotate":
            return Rotate(tuple(draw(st.integers(-6, 6)) for _ in shape))
        case "select":
            return Select(tuple(selected(draw, size) for size in shape))
    total = int(np.prod(shape))
    back = [(total,), *sorted(one for one in seen if np.prod(one) == total)]
    if draw(st.booleans()):
        return Reshape(draw(st.sampled_from(back)))
    found: list[int] = []
    for _ in range(draw(st.integers(0, 3))):
        divisors = [d for d in range(1, total + 1) if total % d == 0] or [0, 1, 3]
        found.append(draw(st.sampled_from(divisors)))
        total = total // found[-1] if found[-1] else 1
    return Reshape((*found, total) if total != 1 or not found or draw(st.booleans()) else (*found,))


def selected(draw: st.DrawFn, size: int) -> Lmad[int]:
    """Positions below `size`: one, some in steps of any sign or of 0, or those of an LMAD."""
    if not size:
        return Lmad(0, (Dim(0, draw(st.integers(-2, 2))),))
    start = draw(st.integers(0, size - 1))
    if draw(st.integers(0, 3)) == 0:
        return Lmad(start, ())
    dims: list[Dim[int]] = []
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        _, count, stride = draw(RANGES)
        dims.append(Dim(count, stride))
    part = Lmad(start, tuple(dims))
    while any(not 0 <= at < size for at in part.points()):
        part = Lmad(part.offset, (Dim(part.dims[0].size - 1, part.dims[0].stride), *part.dims[1:]))
    return part


def stepped(cells: np.ndarray, step: Step[int]) -> np.ndarray:
    """The same step on a list of cells."""
    match step:
        case Permute(perm):
            return cells.transpose(perm)
        case Rotate(by):
            return np.roll(cells, [-r for r in by], range(cells.ndim)) if by else cells
        case Select(parts):
            at = np.ix_(*[part.points() for part in parts]) if parts else ()
            shape = [size for part in parts for size in part.shape]
            picked = cells[tuple(np.asarray(one, np.int64) for one in at)] if parts else cells
            return picked.reshape(shape)
        case Reshape(shape):
            return cells.reshape(shape)


def all_points(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(np.ndindex(*shape))


@st.composite
def programs(draw: st.DrawFn) -> tuple[Lmad[int], list[Step[int]]]:
    base = draw(st.one_of(DENSE, BASES))
    cells, steps, seen = cells_of(base), [], set()
    for kind in draw(KINDS):
        seen |= {cells.shape, cells.shape[::-1]}
        steps.append(drawn(draw, kind, cells.shape, seen))
        cells = stepped(cells, steps[-1])
    return base, steps


@PATIENT
@given(programs())
def test_all_generations_have_the_cells_of_the_list(
    program: tuple[Lmad[int], list[Step[int]]],
) -> None:
    base, steps = program
    cells, chain, composition = cells_of(base), Chain(base), Composition.of(base)
    single: Lmad[int] | NoView = base
    for step in steps:
        cells, chain, composition = stepped(cells, step), chain.then(step), composition.then(step)
        single = view(single, step) if isinstance(single, Lmad) else single
    wanted = cells.ravel().tolist()
    points = all_points(cells.shape)
    assert chain.shapes()[-1] == composition.parts[-1].lmad.shape == cells.shape
    assert [chain.index(at, divmod) for at in points] == wanted
    assert [composition.index(at, divmod) for at in points] == wanted
    if isinstance(single, Lmad):
        assert single.shape == cells.shape
        assert [single.index(*at) for at in points] == wanted


@PATIENT
@given(programs())
def test_a_merged_composition_has_the_same_cells(
    program: tuple[Lmad[int], list[Step[int]]],
) -> None:
    base, steps = program
    composition = Composition.of(base)
    for step in steps:
        composition = composition.then(step)
    merged = composition.merged()
    assert len(merged.parts) <= len(composition.parts)
    for at in all_points(composition.parts[-1].lmad.shape):
        assert merged.index(at, divmod) == composition.index(at, divmod)


@PATIENT
@given(programs())
def test_a_composition_is_one_lmad_where_each_step_has_a_single_view(
    program: tuple[Lmad[int], list[Step[int]]],
) -> None:
    base, steps = program
    single: Lmad[int] | NoView = base
    composition = Composition.of(base)
    for step in steps:
        if isinstance(step, Rotate):
            continue
        cells = stepped(cells_of(single), step) if fits(single, step) else None
        if cells is None:
            return
        single = view(single, step)
        if isinstance(single, NoView):
            return
        composition = composition.then(step)
        assert composition.single == single


def fits(lmad: Lmad[int], step: Step[int]) -> bool:
    """Whether a step is still possible where rotations, which keep the shape, are left out."""
    return isinstance(step, Permute | Select) or int(np.prod(step.shape)) == lmad.size


# --- what seed and thesis print ---

N, M, AT, TO = map(Poly.var, ("n", "m", "i", "j"))
ZERO, ONE = Poly.const(0), Poly.const(1)
TURN: Step[Poly] = Permute((1, 0))


def apart(left: Poly, right: Poly) -> tuple[Poly, Poly]:
    raise AssertionError(f"{left} is not divided by {right}")


def test_the_rules_of_the_source() -> None:
    """`apply(F->Index(i), I) = apply(F, (i, I))`, and a transposition swaps the indices."""
    chain = Chain(Lmad.row_major([N, M]))
    assert chain.index((AT, TO), apart) == AT * M + TO
    assert chain.then(TURN).index((AT, TO), apart) == chain.index((TO, AT), apart)
    row = chain.then(Select((Lmad(AT, ()), Lmad(ZERO, (Dim(M, ONE),)))))
    assert row.index((TO,), apart) == chain.index((AT, TO), apart)


def test_the_rotated_slice_of_the_thesis() -> None:
    """0 + {(10:1:5)}, then [3:4]: offsets 8, 9, 0, 1, which no LMAD of one dimension has."""
    turned = Composition.of(Lmad.row_major([10])).then(Rotate((5,)))
    assert len(turned.parts) == 1
    cut = turned.then(Select((Lmad(3, (Dim(4, 1),)),)))
    assert [str(part.lmad) for part in reversed(cut.parts)] == ["3 + {(4 : 1)}", "0 + {(10 : 1)}"]
    assert [cut.index((k,), divmod) for k in range(4)] == [8, 9, 0, 1]
    assert cut.merged() == cut


def test_a_flattened_transposition() -> None:
    """Offsets 1 4 2 5 3 6 less one: the source's example; unflattened, it is one LMAD again."""
    base = Lmad.row_major([2, 3])
    flat = Composition.of(base).then(Permute((1, 0))).then(Reshape((6,)))
    assert [flat.index((k,), divmod) for k in range(6)] == [0, 3, 1, 4, 2, 5]
    assert len(flat.merged().parts) == 2
    assert isinstance(view(base.permute((1, 0)), Reshape((6,))), NoView)
    back = flat.then(Reshape((3, 2)))
    assert len(back.parts) == 2
    assert back.merged().single == base.permute((1, 0))


def test_branches() -> None:
    """Index functions that differ in numbers have a common form, those that differ more do not."""
    pairs: list[tuple[Poly, Poly]] = []

    def differ(one: Poly, other: Poly) -> Poly:
        pairs.append((one, other))
        return Poly.var(f"x{len(pairs)}")

    base = Chain(Lmad.row_major([N, N]))
    row = Lmad(ZERO, (Dim(N, ONE),))
    i, j = (base.then(Select((Lmad(at, ()), row))) for at in (AT, TO))
    assert unify(i, j, differ) == base.then(Select((Lmad(Poly.var("x1"), ()), row)))
    assert pairs == [(AT, TO)]
    assert unify(base, base.then(TURN), differ) is None
    turned = Composition.of(Lmad.row_major([N, N])).then(TURN)
    both = unify(Composition.of(Lmad.row_major([N, N])), turned, differ)
    strides = Lmad(ZERO, (Dim(N, Poly.var("x2")), Dim(N, Poly.var("x3"))))
    assert both == Composition.of(strides)
    assert pairs[1:] == [(N, ONE), (ONE, N)]
    assert unify(turned, turned.then(Reshape((N * N,))), differ) is None
