"""Reverse mode of loops.

A loop records its parameters in each iteration on a *tape* (`tapes.py`), and goes back over the
iterations: each is recomputed from there. The iterations of a `while` loop are counted before.

Note [Segments]. A long loop is divided into segments of a stride: its parameters are recorded
once per segment, its *checkpoint*, and for each iteration of one segment. That tape is the
last segment's when the loop is over; before going back over another segment, it is recomputed
from its checkpoint, and rewrites the tape. If the stride is the square root of the iterations,
both have as many rows. If one segment is the whole loop, nothing is recomputed more often than
with a whole tape: so the stride is chosen at run time, by the bytes of the whole tape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.names import Name
from compiler.base.remarks import Applied
from compiler.base.rules import Limit, Rule
from compiler.derive import tapes as tape_of
from compiler.derive.reverse import END, AdjointScope, Back, Reverse, pushes, quiet
from compiler.derive.reverse_control import (
    Exports,
    inner_names,
    named_parts,
    operand_of,
    parts_only,
)
from compiler.derive.tapes import Tape, pattern, renamed, varying
from compiler.ir import nodes as ir
from compiler.ir.aliases import of_body
from compiler.ir.build import full_slices
from compiler.ir.nodes import ONE, SE, ZERO, Lit, Operand, Param, Type, Var
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.types import as_operand, prim_type, shape_of, with_dims

WHOLE = Limit("ad/checkpoints/whole", "bytes of a whole tape", 1 << 24)
CHECKPOINTS = Rule(
    "ad/checkpoints",
    "Checkpoints a long loop: stores its parameters once per segment and runs each segment again.",
    equation="n rows of tape ==> 2 * sqrt n rows",
    limits=(WHOLE,),
)
DEEPEST = 16
"""Maximal nesting of segments."""


def of_loop(r: Reverse, stm: ir.Stm, exp: ir.Loop) -> Back:
    """Go back over the iterations, each from its recorded parameters."""
    count, totals = tape_of.counted(r, exp)
    if isinstance(exp.form, ir.WhileLoop):
        index = r.ctx.fresh("i")
        exp = ir.Loop(exp.params, exp.init, ir.ForLoop(index, "i64", count), exp.body)
    form = exp.form
    assert isinstance(form, ir.ForLoop)
    bound = form.bound if form.prim == "i64" else ir.Conv(form.prim, "i64", form.bound)
    if not (isinstance(bound, Lit) and bound.value >= 0):
        bound = r.scalar("rounds", ir.Bin("max", "i64", ZERO, bound))
    r.types[form.index] = ir.Scalar(form.prim)
    r.learn(exp.params)
    stride = None if totals else _stride(r, exp, bound)
    return _whole(r, stm, exp, bound, totals) if stride is None else stride(stm)


def _whole(r: Reverse, stm: ir.Stm, exp: ir.Loop, bound: SE, totals: Sequence[Poly]) -> Back:
    """Go back with a tape of all iterations."""
    rounds = poly_of(bound)
    assert rounds is not None
    form = exp.form
    assert isinstance(form, ir.ForLoop)
    tapes = tape_of.tapes_of(exp.params, rounds, totals)
    init = [*exp.init, *tape_of.blank(r, tapes)]
    params, stms, results = _taped(r, exp, tapes, _as_i64(form))
    names = {p.name: r.ctx.fresh(p.name) for p in params}
    names.update((p.name, own.name) for p, own in zip(exp.params, stm.pat, strict=True))
    pat = pattern(params, names)
    pat[: len(stm.pat)] = stm.pat
    r.add(pat, ir.Loop(tuple(params), tuple(init), form, ir.Body(stms, results, exp.body.prov)))
    done = tape_of.named(tapes, pat[len(stm.pat) :])
    return lambda: _back_over(r, _Way(stm.pat, exp, bound, rounds, done))


def _as_i64(form: ir.ForLoop) -> SE:
    at: SE = Var(form.index, form.prim)
    return at if form.prim == "i64" else ir.Conv(form.prim, "i64", at)


def _taped(
    r: Reverse, exp: ir.Loop, tapes: Sequence[Tape], at: SE
) -> tuple[list[Param], tuple[ir.Stm, ...], tuple[Operand, ...]]:
    """Return a loop's parameters, statements and results, extended by writes to tapes."""
    own, more = tape_of.carried(r, tapes)
    outer = r.open()
    news = tape_of.write(r, own, at)
    head = r.close(outer, ()).stms
    stms = (*head, *quiet(exp.body.stms))
    return [*exp.params, *more], stms, (*exp.body.results, *news)


# --- the way back ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Way:
    """A loop to go back over: the names of its results, its iterations, and its tapes.

    `inner`: for segments, how to go back over one, and their shared tape.
    """

    pat: Sequence[Param]
    exp: ir.Loop
    bound: SE
    rounds: Poly
    tapes: Sequence[Tape]
    inner: _Inner | None = None


@dataclass(frozen=True, slots=True)
class _Inner:
    """Goes back over a segment, given its statements, seeds of its results, and the tape.

    Returns the operands that carry the tape on.
    """

    tapes: Sequence[Tape]
    run: Callable[[Sequence[ir.Stm], Callable[[], None], Sequence[Tape], SE], list[Operand]]


@dataclass(slots=True)
class _Written:
    """The loop of adjoints under construction: its parameters, initial and next values."""

    params: list[Param]
    init: list[Operand]
    results: list[Operand]

    def take(self, params: Sequence[Param], init: Sequence[Operand]) -> None:
        """Add parameters."""
        self.params += params
        self.init += init


def _back_over(r: Reverse, way: _Way) -> None:
    """Make the loop of adjoints, from the last iteration to the first."""
    exp, bound = way.exp, way.bound
    adjoints = [r.adjoint(p.name) for p in way.pat]
    if all(a is None for a in adjoints) and not pushes(ir.Stm((), exp, ())):
        return
    form = exp.form
    assert isinstance(form, ir.ForLoop)
    again: ir.Loop = r.copied(ir.Loop(exp.params, exp.init, form, exp.body))
    inner_form = again.form
    assert isinstance(inner_form, ir.ForLoop)
    written = _Written([], [], [])
    sizes = _sizes(r, way, again, written)
    carried = _carried(r, way, again, adjoints, sizes, written)
    inside_free = r.free_active(ir.Lambda((*again.params,), again.body, ()))
    shared = {n: r.fresh(n, r.types[n], END) for n in inside_free if r.scope.owns(n)}
    written.take(list(shared.values()), [r.full(name) for name in shared])
    tapes, ring = _tapes(r, way, again, written)
    down = r.ctx.fresh("down")
    stms, outer = r.open(), r.inside((*shared, *(p.name for p in again.params)))
    r.scope.adjoints = {name: as_operand(p) for name, p in shared.items()}
    last = ir.Bin("-", "i64", bound, ONE)
    here = r.scalar("i", ir.Bin("-", "i64", last, Var(down, "i64")))
    index: SE = here if form.prim == "i64" else ir.Conv("i64", form.prim, here)
    r.add((Param(inner_form.index, ir.Scalar(form.prim)),), index)
    starts_at = tape_of.read(r, tapes, here)

    def seeds() -> None:
        for p, result in zip(again.params, again.body.results, strict=True):
            if p.name in carried:
                r.give(result, r.fitted(carried[p.name], result))

    rest: list[Operand] = []
    if way.inner is None:
        r.there_and_back(again.body.stms, seeds)
    else:
        rest = way.inner.run(again.body.stms, seeds, ring, Var(down, "i64"))
    written.results += [Var(name, "i64") for name in sizes]
    written.results += [r.full(name) for name in (*carried, *shared)]
    written.results += [*starts_at, *rest]
    scope = r.outside(outer)
    finals = _close(r, stms, scope, written, way, down)[len(sizes) :]
    for name, end in zip(shared, finals[len(carried) :], strict=False):
        r.scope.adjoints[name] = end
    pairs = zip(exp.init, again.params, strict=True)
    inits = [v for v, p in pairs if p.name in carried]
    for value, final in zip(inits, finals, strict=False):
        r.give(value, r.fitted(final, value))


def _carried(
    r: Reverse,
    way: _Way,
    again: ir.Loop,
    adjoints: Sequence[Operand | None],
    sizes: dict[Name, Name],
    written: _Written,
) -> dict[Name, Operand]:
    """Add parameters for the adjoints of active ones; return them by name."""
    found: dict[Name, Operand] = {}
    for p, old, adjoint in zip(again.params, way.pat, adjoints, strict=True):
        if p.name in r.active:
            own = r.fresh(old.name, renamed(p.type, sizes), END)
            found[p.name] = as_operand(own)
            written.take([own], [r.zero(old.type) if adjoint is None else adjoint])
    return found


def _tapes(
    r: Reverse, way: _Way, again: ir.Loop, written: _Written
) -> tuple[list[Tape], list[Tape]]:
    """Return the loop's tapes, with their ends as parameters, and the tape shared by segments."""
    found: list[Tape] = []
    for tape, p in zip(way.tapes, again.params, strict=True):
        end = ""
        if tape.end:
            own = r.fresh("end", ir.I64)
            written.take([own], [Var(tape.end, "i64")])
            end = own.name
        found.append(tape.of(p).named(tape.array, end))
    if way.inner is None:
        return found, []
    ring, more = tape_of.carried(r, way.inner.tapes)
    written.take(more, tape_of.operands(way.inner.tapes))
    return found, ring


def _sizes(r: Reverse, way: _Way, again: ir.Loop, written: _Written) -> dict[Name, Name]:
    """Add parameters for changing sizes; return them by their names in an iteration."""
    own = varying(again.params)
    found: dict[Name, Name] = {}
    for p, old in zip(again.params, way.pat, strict=True):
        if p.name in own:
            size = r.fresh(p.name, ir.I64)
            found[p.name] = size.name
            written.take([size], [Var(old.name, "i64")])
    return found


def _close(
    r: Reverse, stms: list[ir.Stm], scope: AdjointScope, written: _Written, way: _Way, down: Name
) -> list[Operand]:
    """Add the loop, with its contributions to outer arrays, iteration by iteration."""
    params, results = written.params, written.results
    inside = inner_names(r.stms) | {down} | {p.name for p in params}
    exports = Exports(r, scope, inside)
    named_parts(r, exports)
    first = len(params)
    dense = list(exports.dense)
    for name in dense:
        kind = r.types[name]
        more = r.fresh(name, kind, END)
        params.append(more)
        results.append(r.sum(name, kind, as_operand(more), exports.dense[name]))
    values, kinds = parts_only(exports).operands(r)
    rows: list[Type] = [with_dims((way.rounds,), kind) for kind in kinds]
    for value, kind, whole in zip(values, kinds, rows, strict=True):
        part = r.fresh("parts", whole)
        params.append(part)
        dims = (ir.DimFix(Var(down, "i64")), *full_slices(shape_of(kind)))
        results.append(r.bind("parts", whole, ir.Update(part.name, dims, value)))
    body = r.close(stms, results)
    init = [*written.init, *(r.zero(r.types[name]) for name in dense)]
    init += [r.bind("parts", t, ir.Scratch(prim_type(t), shape_of(t))) for t in rows]
    taken = set(of_body(body.stms)[0])
    every = [Param(p.name, p.type, p.name in taken) for p in params]
    pat = pattern(every, {p.name: r.ctx.fresh(p.name) for p in every})
    form = ir.ForLoop(down, "i64", way.bound)
    r.add(pat, ir.Loop(tuple(every), tuple(init), form, body))
    ends = [as_operand(p) for p in pat]
    rest = ends[first:]
    for name, end in zip(dense, rest, strict=False):
        r.give(operand_of(r, name), end)
    parts_only(exports).receive(r, rest[len(dense) :], (way.rounds,))
    return ends


# --- segments ------------------------------------------------------------------------------------


def _stride(r: Reverse, exp: ir.Loop, bound: SE) -> Callable[[ir.Stm], Back] | None:
    """Return how to go over a loop in segments; None for a single tape of all iterations.

    See Note [Segments].
    """
    form = exp.form
    assert isinstance(form, ir.ForLoop)
    depth = r.segments.pop(form.index, 0) or _asked(r)
    if depth == 1 or (isinstance(bound, Lit) and bound.value < 4):
        return None
    said = depth > 1
    if not said and r.inside_map:
        return None
    rounds = poly_of(bound)
    assert rounds is not None
    size = sum((_bytes(p.type) for p in exp.params), Poly.const(0))
    most = r.ctx.options.limit(WHOLE)
    known = (size * rounds).constant
    if not said and known is not None and known <= most:
        return None
    if not r.ctx.commit(CHECKPOINTS, r.prov, Applied(True, _told(said, depth, most))):
        return None
    return lambda stm: _in_segments(r, stm, exp, bound, depth, size)


def _asked(r: Reverse) -> int:
    """Return the depth of `#[stripmine(depth)]`, by default 2; 0 without the attribute."""
    words = r.ctx.asked(r.prov)
    if "stripmine" not in words:
        return 0
    depths = [int(word) for word in words if word.isdigit()]
    return max(1, min(*depths, DEEPEST)) if depths else 2


def _told(said: bool, depth: int, most: int) -> str:
    if said:
        return (
            f"The loop is differentiated in nested segments, {depth - 1} levels deep: "
            f"for n iterations its tape and checkpoints have about n**(1/{depth}) rows "
            "each."
        )
    return (
        f"If a full tape would exceed {most} bytes, the loop is divided into as many "
        "segments as the square root of its iterations. It stores its parameters once "
        "per segment and runs each segment again."
    )


def _bytes(kind: Type) -> Poly:
    return tape_of.elements(kind) * DTYPE[prim_type(kind)].itemsize


def _float(se: SE) -> SE:
    return ir.Conv("i64", "f64", se)


def _in_segments(r: Reverse, stm: ir.Stm, exp: ir.Loop, bound: SE, depth: int, size: Poly) -> Back:
    """Go back in segments of a stride, each from its checkpoint."""
    power = ir.Bin("**", "f64", _float(bound), Lit(1 - 1 / depth if depth else 0.5, "f64"))
    root = ir.Bin("max", "i64", ONE, ir.Conv("f64", "i64", ir.Fun("ceil", "f64", (power,))))
    if depth:
        stride = r.scalar("stride", root)
    else:
        whole = ir.Bin("*", "f64", _float(bound), _float(se_of(size)))
        most = Lit(float(r.ctx.options.limit(WHOLE)), "f64")
        fits = ir.Bin("<=", "f64", whole, most)
        stride = r.scalar("stride", ir.Select(fits, ir.Bin("max", "i64", ONE, bound), root))
    up = ir.Bin("-", "i64", ir.Bin("+", "i64", bound, stride), ONE)
    count = r.scalar("segments", ir.Bin("/", "i64", up, stride))
    segments, rows = poly_of(count), poly_of(stride)
    assert segments is not None
    assert rows is not None
    nest = _nest(r, exp, bound, stride, count)
    checks = tape_of.tapes_of(nest.outer.params, segments, ())
    shared = tape_of.tapes_of(exp.params, rows, ()) if depth <= 2 else []
    done, last = _forward(r, stm.pat, nest, checks, shared)

    def over(
        stms: Sequence[ir.Stm], seeds: Callable[[], None], tapes: Sequence[Tape], down: SE
    ) -> list[Operand]:
        if depth <= 2:
            return _over_segment(r, stms, seeds, tapes, down)
        inner = stms[-1].exp
        assert isinstance(inner, ir.Loop)
        assert isinstance(inner.form, ir.ForLoop)
        r.segments[inner.form.index] = depth - 1
        r.there_and_back(stms, seeds)
        return []

    way = _Way(stm.pat, nest.outer, count, segments, done, _Inner(last, over))
    return lambda: _back_over(r, way)


@dataclass(frozen=True, slots=True)
class _Nest:
    """A loop over segments.

    Its body computes a segment's length and runs the loop over its iterations.
    """

    outer: ir.Loop
    rounds: ir.Stm
    segment: ir.Stm

    @property
    def inner(self) -> ir.Loop:
        """Return the loop over the iterations of a segment."""
        assert isinstance(self.segment.exp, ir.Loop)
        return self.segment.exp


def _nest(r: Reverse, exp: ir.Loop, bound: SE, stride: SE, segments: SE) -> _Nest:
    form = exp.form
    assert isinstance(form, ir.ForLoop)
    number, index = (r.known(Param(r.ctx.fresh(n), ir.I64)) for n in ("segment", "k"))
    start = ir.Bin("*", "i64", Var(number.name, "i64"), stride)
    here = r.fresh("rounds", ir.I64)
    left = ir.Bin("min", "i64", stride, ir.Bin("-", "i64", bound, start))
    rounds = ir.Stm((here,), left, r.prov)
    at: SE = ir.Bin("+", "i64", start, Var(index.name, "i64"))
    at = at if form.prim == "i64" else ir.Conv("i64", form.prim, at)
    first = ir.Stm((Param(form.index, ir.Scalar(form.prim)),), at, r.prov)
    body = ir.Body((first, *exp.body.stms), exp.body.results, exp.body.prov)
    params = tuple(_like(r, p) for p in exp.params)
    pat = tuple(_like(r, p) for p in exp.params)
    pat = tuple(Param(p.name, p.type) for p in pat)
    inner = ir.Loop(
        exp.params,
        tuple(map(as_operand, params)),
        ir.ForLoop(index.name, "i64", Var(here.name, "i64")),
        body,
    )
    segment = ir.Stm(pat, inner, r.prov)
    whole = ir.Body((rounds, segment), tuple(map(as_operand, pat)))
    outer = ir.Loop(params, exp.init, ir.ForLoop(number.name, "i64", segments), whole)
    return _Nest(outer, rounds, segment)


def _like(r: Reverse, param: Param) -> Param:
    """Copy a parameter, with its activity."""
    own = r.fresh(param.name, param.type)
    if param.name in r.active:
        r.active.add(own.name)
    return Param(own.name, own.type, param.unique)


def _forward(
    r: Reverse, pat: Sequence[Param], nest: _Nest, checks: Sequence[Tape], shared: Sequence[Tape]
) -> tuple[list[Tape], list[Tape]]:
    """Run all segments; record checkpoints, and the tape of the last one."""
    outer, inner = nest.outer, nest.inner
    assert isinstance(outer.form, ir.ForLoop)
    assert isinstance(inner.form, ir.ForLoop)
    own, of_checks = tape_of.carried(r, checks)
    ring, of_ring = tape_of.carried(r, shared)
    params, stms, results = _taped(r, inner, shared, _as_i64(inner.form))
    init = (*inner.init, *tape_of.operands(ring))
    taped = ir.Loop(tuple(params), init, inner.form, ir.Body(stms, results, inner.body.prov))
    more = [r.fresh(p.name, p.type) for p in of_ring]
    segment = ir.Stm((*nest.segment.pat, *more), taped, r.prov)
    before = r.open()
    news = tape_of.write(r, own, _as_i64(outer.form))
    head = r.close(before, ()).stms
    ends = (*outer.body.results, *map(as_operand, more), *news)
    start = (*outer.init, *tape_of.blank(r, shared), *tape_of.blank(r, checks))
    body = ir.Body((*head, nest.rounds, segment), ends)
    every = (*outer.params, *of_ring, *of_checks)
    finals = [r.fresh(p.name, p.type) for p in (*of_ring, *of_checks)]
    r.add((*pat, *finals), ir.Loop(every, start, outer.form, body))
    count = len(of_ring)
    return tape_of.named(checks, finals[count:]), tape_of.named(shared, finals[:count])


def _over_segment(
    r: Reverse,
    stms: Sequence[ir.Stm],
    seeds: Callable[[], None],
    tapes: Sequence[Tape],
    down: SE,
) -> list[Operand]:
    """Recompute a segment, unless it is the last one, and go back over it."""
    rounds, segment = stms
    r.learn((*rounds.pat, *segment.pat))
    r.stms.append(rounds)
    if r.scope.own is not None:
        r.scope.own.update(p.name for p in segment.pat)
    exp = segment.exp
    assert isinstance(exp, ir.Loop)
    r.learn(exp.params)
    again: ir.Loop = r.copied(exp)
    r.learn(again.params)
    form = again.form
    assert isinstance(form, ir.ForLoop)
    own = [tape.of(p) for tape, p in zip(tapes, again.params, strict=True)]
    params, body, results = _taped(r, again, own, _as_i64(form))
    last = ir.Bin("==", "i64", down, ZERO)
    needed = r.scalar("rounds", ir.Select(last, ZERO, form.bound))
    init = (*again.init, *tape_of.operands(tapes))
    pat = pattern(params, {p.name: r.ctx.fresh(p.name) for p in params})
    short = ir.ForLoop(form.index, "i64", needed)
    r.add(pat, ir.Loop(tuple(params), init, short, ir.Body(body, results)))
    now = tape_of.named(tapes, pat[len(again.params) :])
    seeds()
    assert isinstance(exp.form, ir.ForLoop)
    count = poly_of(exp.form.bound)
    assert count is not None
    way = _Way(
        segment.pat,
        exp,
        exp.form.bound,
        count,
        [t.of(p) for t, p in zip(now, exp.params, strict=True)],
    )
    _back_over(r, way)
    return tape_of.operands(now)


RULES: dict[type, Any] = {ir.Loop: of_loop}
