"""Bounds of the elements of integer arrays, derived from how the arrays are made.

`ends` of an array are polynomials of outer names that bound all elements from below or above. They
follow from the definition: a literal, a map's function, views and concatenations, a scan whose
operator preserves them. Counts give more: in a prefix sum of booleans, element `i` is at most `i +
1`, and a scatter to the counted places writes all places before the last count. So the results of
`filter` and `partition` have the bounds of their inputs.

Bounds of a function's own arrays persist across rounds: names mean the same values, and the earlier
checks still hold. Each inequality is proved by `facts` and accepted by the checker; the rest is
induction over the elements. A bound is valid in the body where it was learned, and may depend on
enclosing conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from compiler.algebra.argument import Argument, Source, all_lines
from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.ir import nodes as ir
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.walk import map_se
from compiler.optimise.simplify.ends import CountedPlace, Ends
from compiler.optimise.simplify.state import State

ELEMENTS = Rule(
    "simplify/elements",
    "Removes checks by bounds on the elements of an index array, known from how it is computed.",
    equation="`assert (0 <= x && x < n) ==> nothing`, where x is an element of an array whose "
    "elements all lie there.",
)
MOST = 4
"""Maximum number of bounds of each kind kept per array."""
LITERAL = 256
"""Maximum length of a literal whose elements are inspected."""


def ends_of(s: State, array: Name) -> Ends:
    """Return the known bounds of an array's elements."""
    for scope in reversed(s.scopes):
        found = scope.known.ends.get(array)
        if found is not None:
            return _in_scope(s, found) if scope.kind == "function" else found
    return Ends()


def _in_scope(s: State, ends: Ends) -> Ends:
    """Keep bounds from an earlier round whose names still exist."""
    lows, highs = (
        tuple(end for end in some if end.names() <= s.depths_of.keys())
        for some in (ends.lows, ends.highs)
    )
    return Ends(lows, highs)


def _look(s: State, which: str, name: Name) -> object:
    for scope in reversed(s.scopes):
        found = getattr(scope.known, which).get(name)
        if found is not None:
            return found
    return None


def _note(s: State, array: Name, ends: Ends) -> None:
    if ends:
        s.scopes[-1].known.ends[array] = Ends(ends.lows[:MOST], ends.highs[:MOST])


# --- arrays that are made of others --------------------------------------------------------------


def learn_array(s: State, param: ir.Param, exp: ir.Exp) -> None:
    """Learn bounds of an array's elements, or of a number read from an array."""
    if s.is_off(ELEMENTS) or getattr(param.type, "prim", "") not in ("i64", "i32", "bool"):
        return
    match exp:
        case ir.Index(array, at):
            learn_element(s, param.name, param.type, array)
            written = _written(s, array)
            if written is not None and len(at) == 1 and _is_before(s, at[0], written[0]):
                _learn_ends(s, param.name, param.type, written[1], array)
        case ir.Slice(array, dims):
            _note(s, param.name, _of_slice(s, array, dims))
        case ir.Rearrange(_, array) | ir.Reshape(_, array) | ir.Copy(array):
            _note(s, param.name, ends_of(s, array))
        case ir.ArrayLit(elems) if len(elems) <= LITERAL:
            _note(s, param.name, _joined(s, (_of_operand(s, elem) for elem in elems)))
        case ir.Replicate(_, value):
            _note(s, param.name, _of_operand(s, value))
        case ir.Iota(count, start, step, "i64") if step == ir.ONE:
            first = poly_of(start)
            if first is not None and all(map(s.facts.is_value, (first, first + count - 1))):
                _note(s, param.name, Ends((first,), (first + count - 1,)))
        case ir.Concat(arrays):
            _note(s, param.name, _joined(s, (ends_of(s, array) for array in arrays)))
        case ir.Update(array, _, value):
            parts = (ends_of(s, array), _of_operand(s, value))
            _note(s, param.name, _joined(s, iter(parts)))


def learn_element(s: State, name: Name, kind: ir.Type, array: Name) -> None:
    """Learn bounds of one element of an array, or of a row of it."""
    _learn_ends(s, name, kind, ends_of(s, array), array)


def _learn_ends(s: State, name: Name, kind: ir.Type, ends: Ends, array: Name) -> None:
    if not ends or s.is_off(ELEMENTS):
        return
    if isinstance(kind, ir.Array):
        _note(s, name, ends)
    elif kind == ir.I64:
        s.facts.element(name, ends.lows, ends.highs, s.depth, array)


def _of_operand(s: State, value: ir.Operand) -> Ends:
    """Return the bounds of an array or number, over outer names or constants."""
    if isinstance(value, str):
        return ends_of(s, value)
    if isinstance(value, ir.Lit):
        if value.prim != "i64":
            return Ends()
        number = Poly.const(int(value.value))
        return Ends((number,), (number,))
    poly = poly_of(value)
    if poly is None or not s.facts.is_value(poly):
        return Ends()
    return Ends((poly,), (poly,))


def _joined(s: State, parts: Iterator[Ends]) -> Ends:
    """Return the common bounds of all parts: those of one that hold for the others."""
    found = next(parts, Ends())
    for one in parts:
        if not found:
            break
        if one is not found and one != found:
            found = Ends(
                _kept(s, found.lows, one.lows, "<="), _kept(s, found.highs, one.highs, ">=")
            )
    return found


def _kept(s: State, some: tuple[Poly, ...], others: tuple[Poly, ...], op: str) -> tuple[Poly, ...]:
    """Return the bounds of either that are no tighter than one of the other."""
    kept = [end for end in some if any(_ordered(s, op, end, other) for other in others)]
    kept += [end for end in others if any(_ordered(s, op, end, other) for other in some)]
    return tuple(dict.fromkeys(kept))


def _ordered(s: State, op: str, one: Poly, other: Poly) -> bool:
    gap = (one - other).constant
    if gap is not None:
        return gap <= 0 if op == "<=" else gap >= 0
    return s.facts.decide(op, se_of(one), se_of(other)) is True


def used(arguments: Iterable[Argument]) -> list[Name]:
    """Return the arrays whose element bounds the arguments use."""
    lines = chain.from_iterable(all_lines(argument.lines) for argument in arguments)
    known = (line.because for line in lines if isinstance(line.because, Source))
    return list(dict.fromkeys(one.text for one in known if one.kind == "between" and one.text))


def removed(s: State, stm: ir.Stm, arrays: Sequence[Name]) -> bool:
    """Commit the removal of a check that element bounds of `arrays` prove; False if it stays."""
    names = " and ".join(f"`{base_of(name)}`" for name in arrays)
    said = f"Check removed: the computation of {names} bounds its elements."
    return s.commit(ELEMENTS, stm.prov, Applied(True, said)) is not None


# --- parallel operators --------------------------------------------------------------------------


def learn_inputs(s: State, fn: ir.Lambda, arrays: Sequence[Name]) -> None:
    """Learn element bounds of an operator's inputs, in its body."""
    for param, array in zip(fn.params, arrays, strict=True):
        learn_element(s, param.name, param.type, s.name(array))


def bounds_of_arrays(s: State, arrays: Sequence[Name]) -> tuple[Ends, ...]:
    """Return element bounds of arrays; () if none is known."""
    found = tuple(ends_of(s, s.name(array)) for array in arrays)
    return found if any(found) else ()


def results_of(s: State, exp: ir.Soac, fn_results: Sequence[ir.Operand]) -> list[Ends]:
    """Return bounds of an operator's results; call at the end of its body."""
    if s.is_off(ELEMENTS) or isinstance(exp, ir.Hist | ir.Stream):
        return []
    inside = 1 << s.depth
    found = []
    for value, kind in zip(fn_results, exp.fn.returns, strict=True):
        ends = Ends()
        if kind == ir.I64 and not isinstance(value, str):
            ends = _of_value(s, value, inside)
        elif isinstance(value, str) and isinstance(kind, ir.Array) and kind.prim == "i64":
            ends = _outer(s, ends_of(s, value), inside)
        found.append(ends)
    if isinstance(exp, ir.Scan):
        at = 0
        for op in exp.ops:
            match _numbers(op):
                case ("max" | "min" as which, start):
                    found[at] = _with_neutral(s, found[at], Poly.const(start), which)
            at += len(op.neutral)
    return found


def _numbers(op: ir.Operator) -> tuple[str, int] | None:
    """Return the operation and initial value of an integer scan, or None."""
    match op.neutral, op.fn.body.stms, op.fn.body.results:
        case (ir.Lit(start, "i64"),), (), (ir.Bin(kind, "i64", ir.Var(lhs), ir.Var(rhs)),):
            if {lhs, rhs} == {param.name for param in op.fn.params}:
                return kind, int(start)
    return None


def _outer(s: State, ends: Ends, inside: int) -> Ends:
    """Express bounds over names outside the body."""
    lows = [p for end in ends.lows for p in _without(s, end, inside, low=True)]
    highs = [p for end in ends.highs for p in _without(s, end, inside, low=False)]
    return Ends(tuple(lows), tuple(highs))


def _of_value(s: State, value: ir.SE, inside: int) -> Ends:
    """Return proved bounds of a number over outer names."""
    if isinstance(value, ir.Conv) and value.src == "bool":
        return Ends((Poly.const(0),), (Poly.const(1),))
    lows = [p for p in _candidates(s, value, inside, low=True) if _proved(s, p, "<=", value)]
    highs = [p for p in _candidates(s, value, inside, low=False) if _proved(s, p, ">=", value)]
    return Ends(tuple(lows[:MOST]), tuple(highs[:MOST]))


def _proved(s: State, end: Poly, op: str, value: ir.SE) -> bool:
    return s.facts.is_value(end) and s.facts.decide(op, se_of(end), value) is True


def _candidates(s: State, value: ir.SE, inside: int, *, low: bool) -> Iterable[Poly]:
    """Return candidate bounds of a number."""
    found: dict[Poly, None] = {}
    for poly in _shapes(s, value, low=low):
        found |= dict.fromkeys(_without(s, poly, inside, low=low))
        if len(found) > MOST:
            break
    return found


def _shapes(s: State, value: ir.SE, *, low: bool) -> Iterator[Poly]:
    """Yield polynomials that may bound a number, by its operators."""
    poly = poly_of(value)
    if poly is not None:
        yield poly
        name = poly.as_name
        made = None if name is None else s.defs.get(name)
        if isinstance(made, ir.SE_NODES) and made != value:
            yield from _shapes(s, made, low=low)
        return
    match value:
        case ir.Bin("%%" | "%", "i64", _, by):
            divisor = poly_of(by)
            if divisor is not None:
                yield Poly.const(0) if low else divisor - 1
        case ir.Bin("min" | "max", "i64", lhs, rhs) | ir.Select(_, lhs, rhs):
            yield from _shapes(s, lhs, low=low)
            yield from _shapes(s, rhs, low=low)
        case ir.Bin("+" | "-" as op, "i64", lhs, rhs):
            for one in _shapes(s, lhs, low=low):
                for other in _shapes(s, rhs, low=low == (op == "+")):
                    yield one + other if op == "+" else one - other
        case ir.Bin("/" | "//", "i64", lhs, _):
            if low:
                yield Poly.const(0)
            else:
                yield from _shapes(s, lhs, low=low)


def _without(s: State, poly: Poly, inside: int, *, low: bool) -> list[Poly]:
    """Substitute bounds for names bound in the body; returns few results."""
    found = [poly]
    for _ in range(MOST):
        inner = next((n for p in found for n in p.names() if s.depths_of.get(n, 0) & inside), None)
        if inner is None:
            return found[: 2 * MOST]
        found = [new for p in found for new in _replaced(s, p, inner, low=low)][: 2 * MOST]
    return []


def _replaced(s: State, poly: Poly, name: Name, *, low: bool) -> Iterator[Poly]:
    """Yield the polynomial with bounds substituted for a name."""
    if name not in poly.names():
        yield poly
        return
    coeff = poly.terms.get(((name, 1),))
    if coeff is None or sum(name in dict(mono) for mono in poly.terms) > 1:
        return
    rest = poly - Poly.var(name) * coeff
    for bound in s.facts.known_bounds(name):
        end = bound.low if low == (coeff > 0) else bound.high
        if end is not None and name not in end.names():
            yield rest + end * coeff


def learn_results(s: State, exp: ir.Exp, pat: tuple[ir.Param, ...], parts: Sequence[Ends]) -> None:
    """Learn element bounds of an operator's results from bounds of its function's results.

    `parts` is empty for a function left unchanged.
    """
    if s.is_off(ELEMENTS) or not isinstance(exp, ir.Map | ir.Scan | ir.Scatter):
        return
    asked = bool(parts)
    if not asked:
        inputs = _inputs(s, exp)
        parts = [_without_facts(s, value, inputs) for value in exp.fn.body.results]
    match exp:
        case ir.Map():
            inputs = _inputs(s, exp)
            for param, ends, value in zip(pat, parts, exp.fn.body.results, strict=True):
                _note(s, param.name, ends)
                match value:
                    case ir.Conv("bool", "i64", cond):
                        s.scopes[-1].known.bits[param.name] = _by_arrays(cond, inputs)
                place = None if isinstance(value, str) else _place(s, value, inputs)
                if place is not None:
                    s.scopes[-1].known.places[param.name] = place
        case ir.Scan(width, ops):
            at = 0
            for op in ops:
                _learn_scan(s, exp, op, pat, parts, at, width, asked=asked)
                at += len(op.neutral)
            for param, ends in zip(pat[at:], parts[at:], strict=False):
                _note(s, param.name, ends)
        case ir.Scatter():
            _learn_scatter(s, exp, pat, parts)


def _without_facts(s: State, value: ir.Operand, inputs: Mapping[Name, Name]) -> Ends:
    """Return bounds of a result that is an input's element, or a converted boolean."""
    match value:
        case ir.Var(name) if name in inputs:
            return ends_of(s, inputs[name])
        case ir.Conv("bool", "i64", _):
            return Ends((Poly.const(0),), (Poly.const(1),))
    return Ends()


def _learn_scan(
    s: State,
    exp: ir.Scan,
    op: ir.Operator,
    pat: tuple[ir.Param, ...],
    parts: Sequence[Ends],
    at: int,
    width: Poly,
    *,
    asked: bool,
) -> None:
    """Learn element bounds of a scan with an integer operator.

    `asked`: `parts` account for the neutral element.
    """
    ends = parts[at]
    zero, one = Poly.const(0), Poly.const(1)
    match _numbers(op):
        case ("max" | "min", _) if asked:
            _note(s, pat[at].name, ends)
        case ("+", 0) if zero in ends.lows and one in ends.highs:
            # The sum of the first i + 1 numbers, each 0 or 1, is at most i + 1.
            _note(s, pat[at].name, Ends((zero,), (width,)))
            flag = _flag(s, exp, at, pat)
            if flag is not None:
                s.scopes[-1].known.counts[pat[at].name] = flag


def _with_neutral(s: State, ends: Ends, start: Poly, kind: str) -> Ends:
    """Return bounds of running maxima (minima) from `start` on, after at least one element."""
    lows, highs = ends.lows, ends.highs
    if kind == "max":
        highs = tuple(end for end in highs if _ordered(s, ">=", end, start))
    else:
        lows = tuple(end for end in lows if _ordered(s, "<=", end, start))
    return Ends(lows, highs)


def _flag(s: State, exp: ir.Scan, at: int, pat: tuple[ir.Param, ...]) -> ir.SE | None:
    """Return the condition that a scan counts, over elements of arrays: inputs, or kept results."""
    inputs = _inputs(s, exp)
    match exp.fn.body.results[at]:
        case ir.Conv("bool", "i64", cond):
            for param, value in zip(pat, exp.fn.body.results, strict=True):
                if value == cond and param.type.prim == "bool":
                    return ir.Var(param.name, "bool")
            return _by_arrays(cond, inputs)
        case ir.Var(name) if name in inputs:
            found = _look(s, "bits", inputs[name])
            return found if isinstance(found, ir.SE_NODES) else None
    return None


def _by_arrays(cond: ir.SE, inputs: Mapping[Name, Name]) -> ir.SE:
    """Replace element names in a condition by the names of their arrays."""
    return map_se(cond, lambda var: ir.Var(inputs.get(var.name, var.name), var.prim))


# --- counts --------------------------------------------------------------------------------------


def learn_total(s: State, pat: Sequence[ir.Param], exp: ir.If) -> None:
    """Recognise the total `if n == 0 then 0 else counts[n - 1]`."""
    if s.is_off(ELEMENTS):
        return
    for k, param in enumerate(pat):
        first, second = exp.then.results[k], exp.orelse.results[k]
        if param.type != ir.I64 or first != ir.ZERO or not isinstance(second, ir.Var):
            continue
        last = next(
            (one for one in exp.orelse.stms if one.pat and one.pat[0].name == second.name), None
        )
        if last is None or not isinstance(last.exp, ir.Index) or len(last.exp.at) != 1:
            continue
        counts, kind = last.exp.array, s.types.get(last.exp.array)
        if kind is None or _look(s, "counts", counts) is None:
            continue
        size = kind.shape[0]
        is_none = exp.cond == ir.Bin("==", "i64", se_of(size), ir.ZERO)
        if is_none and poly_of(last.exp.at[0]) == size - 1:
            s.scopes[-1].known.totals[param.name] = counts
            learn_element(s, param.name, param.type, counts)


def _learn_scatter(
    s: State, exp: ir.Scatter, pat: tuple[ir.Param, ...], parts: Sequence[Ends]
) -> None:
    """Learn that a scatter to counted places writes all places before the last count.

    The k-th kept element goes to place k; in `partition` the others follow, so that all places are
    written.
    """
    if len(exp.dests) != 1 or exp.dests[0].rank != 1 or exp.dests[0].times != 1:
        return
    dest, ends = exp.dests[0].array, parts[1]
    if not isinstance(s.defs.get(dest), ir.Scratch):
        before = ends_of(s, dest)
        _note(s, pat[0].name, _joined(s, iter((before, ends))))
        return
    kind, value = s.types.get(dest), exp.fn.body.results[0]
    if kind is None or kind.shape != (exp.width,) or isinstance(value, str):
        return
    inputs = _inputs(s, exp)
    place: object = _place(s, value, inputs)
    if place is None and isinstance(value, ir.Var) and value.name in inputs:
        place = _look(s, "places", inputs[value.name])
    if isinstance(place, CountedPlace):
        if place.all:
            _note(s, pat[0].name, ends)
        else:
            s.scopes[-1].known.prefixes[pat[0].name] = place.counts, ends


def _inputs(s: State, exp: ir.Soac) -> dict[Name, Name]:
    """Map an operator's element names to its input arrays."""
    return {p.name: s.name(a) for p, a in zip(exp.fn.params, exp.arrays, strict=True)}


def _place(s: State, value: ir.SE, inputs: dict[Name, Name]) -> CountedPlace | None:
    """Recognise `if keep then upto - 1 else -1`, or `.. else total + i - upto`."""
    match value:
        case ir.Select(flag, kept, other):
            pass
        case _:
            return None
    wanted = poly_of(kept)
    upto = next((name for name in inputs if wanted == Poly.var(name) - 1), None)
    if upto is None:
        return None
    counts = inputs[upto]
    if _look(s, "counts", counts) != _by_arrays(flag, inputs):
        return None
    if other == ir.Lit(-1, "i64"):
        return CountedPlace(counts, all=False)
    behind = poly_of(other)
    if behind is not None and _is_behind(s, inputs, counts, behind + Poly.var(upto)):
        return CountedPlace(counts, all=True)
    return None


def _is_behind(s: State, inputs: dict[Name, Name], counts: Name, rest: Poly) -> bool:
    """True if the polynomial is the last count plus the index."""
    totals = [name for name in rest.names() if _look(s, "totals", name) == counts]
    if len(totals) != 1:
        return False
    index = (rest - Poly.var(totals[0])).as_name
    if index is None or index not in inputs:
        return False
    made = s.defs.get(inputs[index])
    return isinstance(made, ir.Iota) and (made.start, made.step) == (ir.ZERO, ir.ONE)


def _of_slice(s: State, array: Name, dims: tuple[ir.DimIndex, ...]) -> Ends:
    """Return element bounds of a slice; more may be known of an array's written prefix."""
    written = _written(s, array)
    if written is not None and len(dims) == 1:
        counts, ends = written
        match dims[0]:
            case ir.DimSlice(start, count, stride) if stride == ir.ONE:
                first = poly_of(start)
                if first is not None and _is_before(s, se_of(first + count - 1), counts):
                    return ends
            case ir.DimSlice(start, _, ir.Lit(-1, "i64")) if _is_before(s, start, counts):
                return ends
    return ends_of(s, array)


def _written(s: State, array: Name) -> tuple[Name, Ends] | None:
    """Return the counts whose last one bounds an array's written prefix, and its bounds."""
    found = _look(s, "prefixes", array)
    return found if isinstance(found, tuple) else None


def _is_before(s: State, at: ir.SE, counts: Name) -> bool:
    """True if a place is provably before the last count."""
    totals = (one for scope in s.scopes for one in scope.known.totals.items())
    names = [name for name, of in totals if of == counts and name in s.depths_of]
    place = poly_of(at)
    if place is not None and any(place == Poly.var(name) - 1 for name in names):
        return True
    return any(s.facts.decide("<", at, ir.Var(name, "i64")) is True for name in names)
