"""Lower array literals, ranges, indexing, slices and updates."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from compiler.algebra.argument import Argument
from compiler.algebra.poly import Poly
from compiler.base.by_class import handles
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Fate
from compiler.base.rules import Rule
from compiler.frontend import typed as ty
from compiler.frontend.types import Array, PrimT, Type, row_of
from compiler.ir import nodes as ir
from compiler.ir.build import both, either, full_slices
from compiler.ir.sizes import poly_of, prim_of, se_of
from compiler.ir.slices import selected
from compiler.lower.build import Lower, Lowering
from compiler.lower.components import components
from compiler.lower.expression_size import key_of
from compiler.lower.exps import literal, se
from compiler.lower.payloads import alike, fit, payload_sizes
from compiler.lower.values import Arr, Message, Value, operand, show_shape

BOUNDS = Rule(
    "soa/bounds", "Removes bounds checks, or parts of them, that follow from ranges and conditions."
)

LARGEST = 2**63 - 1
MINUS_ONE = ir.Lit(-1, "i64")
MOST_STEP, LEAST_STEP = ir.Lit(1 << 62, "i64"), ir.Lit(-(1 << 62), "i64")
Position = ir.SE | tuple[ir.SE | None, ...]
"""An index, or the three parts of a slice."""
RULES: dict[type, Lower] = {}


@dataclass(frozen=True, slots=True)
class Subscript:
    """Indices and slices of an array's first dimensions.

    `full` is the condition that they are in bounds, `needed` the part that is not proved; `text` is
    the message of a failure.
    """

    dims: tuple[ir.DimIndex, ...]
    full: ir.SE
    needed: ir.SE
    text: Message
    why: tuple[Argument, ...]
    """Proofs of the parts that need no check."""


OUT_OF_BOUNDS = "Index ["
"""The beginning of a failed bounds check's message."""


def add(lhs: ir.SE, rhs: ir.SE) -> ir.SE:
    """Return `lhs + rhs` at i64, folded for literals."""
    return _fold("+", lhs, rhs)


def sub(lhs: ir.SE, rhs: ir.SE) -> ir.SE:
    """Return `lhs - rhs` at i64, folded for literals."""
    return _fold("-", lhs, rhs)


def _rise_fits(start: ir.SE, stop: ir.SE, more: int) -> ir.SE:
    """Return the condition that `stop - start + more` fits in 64 bits, given `start <= stop`."""
    most = LARGEST - more
    if isinstance(start, ir.Lit):
        if start.value >= more:
            return ir.TRUE
        return ir.Bin("<=", "i64", stop, literal(int(start.value) + most, "i64"))
    end = ir.Bin("+", "i64", start, literal(most, "i64"))
    return either(ir.Bin("<=", "i64", literal(more, "i64"), start), ir.Bin("<=", "i64", stop, end))


def _fall_fits(start: ir.SE, stop: ir.SE, more: int) -> ir.SE:
    """Return the condition that `start - stop + more` fits in 64 bits, given `stop <= start`."""
    most = LARGEST - more
    if isinstance(start, ir.Lit):
        if start.value < -more:
            return ir.TRUE
        return ir.Bin("<=", "i64", literal(int(start.value) - most, "i64"), stop)
    end = ir.Bin("-", "i64", start, literal(most, "i64"))
    return either(ir.Bin("<", "i64", start, literal(-more, "i64")), ir.Bin("<=", "i64", end, stop))


def _fold(op: str, lhs: ir.SE, rhs: ir.SE) -> ir.SE:
    if isinstance(rhs, ir.Lit):
        if rhs.value == 0:
            return lhs
        if isinstance(lhs, ir.Lit):
            return literal(lhs.value + rhs.value if op == "+" else lhs.value - rhs.value, "i64")
    if op == "+" and lhs == ir.ZERO:
        return rhs
    return ir.Bin(op, "i64", lhs, rhs)


@handles(RULES, ty.ArrayLit)
def _array_lit(s: Lowering, e: ty.ArrayLit, hint: Name) -> Value:
    """Lower an array literal: one per component of the element type."""
    if not isinstance(e.type, Array):
        raise CompilerBug("an array literal of no array type", e.span)
    elem = row_of(e.type)
    rows = [s.lower(x) for x in e.elems]
    s.prov = (e.span,)
    if payload_sizes(elem):
        rows = list(alike(s, elem, *rows))
    declared = components(elem) or (("bool", (), ""),)
    names = s.names(hint or "a", e.type)
    result: list[Arr] = []
    for k, (prim, dims, _) in enumerate(declared):
        column = [row[k] if row else ir.FALSE for row in rows]
        first = column[0] if column else None
        if isinstance(first, Arr):
            shape = first.shape
        else:
            shape = tuple(s.known_size(d) or Poly.const(0) for d in dims)
        elems = tuple(operand(fit(s, x, shape, dims)) for x in column)
        full = (Poly.const(len(elems)), *shape)
        exp = ir.ArrayLit(elems) if elems else ir.Scratch(prim, full)
        result.append(s.array(exp, prim, full, names[k]))
    return tuple(result)


@handles(RULES, ty.StringConst)
def _string(s: Lowering, e: ty.StringConst, hint: Name) -> Value:
    """Lower a string to its bytes."""
    shape = (Poly.const(len(e.value)),)
    elems = tuple(ir.Lit(b, "u8") for b in e.value)
    exp = ir.ArrayLit(elems) if elems else ir.Scratch("u8", shape)
    return (s.array(exp, "u8", shape, hint or "s"),)


# --- ranges ------------------------------------------------------------------------------------


@handles(RULES, ty.Range)
def _range_exp(s: Lowering, e: ty.Range, hint: Name) -> Value:
    """Lower `first..second..end`: check, count, then an `Iota`."""
    first = se(s, e.first)
    second = None if e.second is None else se(s, e.second)
    end = se(s, e.end)
    s.prov = (e.span,)
    prim = prim_of(first)
    if not (poly_of(first) and poly_of(end)):
        first, end = s.atom(first, "first"), s.atom(end, "end")
    text: list[str | ir.SE] = ["Range ", first]
    if second is not None:
        second = s.atom(second, "second")
        text += ["..", second]
    text += [e.kind, end, " is invalid."]
    start, stop = _wide(s, first), _wide(s, end)
    if second is None:
        step: ir.SE = MINUS_ONE if e.kind == "..>" else ir.ONE
    else:
        step = s.atom(sub(_wide(s, second), start), "step")
    wide = prim in ("i64", "u64")
    if second is not None and prim == "u64":
        count = _unsigned_count(s, e.kind, first, second, end, tuple(text))
    else:
        in_order = None if prim != "u64" else _in_order(e.kind, first, end)
        count = _range_count(s, e.kind, start, stop, step, tuple(text), wide, in_order)
    exp = ir.Iota(count, first, ir.Conv("i64", prim, step) if prim != "i64" else step, prim)
    if isinstance(step, ir.Lit):
        exp = ir.Iota(count, first, literal(step.value, prim), prim)
    array = s.array(exp, prim, (count,), hint or "range")
    if first == literal(0, prim) and step == ir.ONE:
        s.iotas[array.name] = count
    s.bind_sizes(e.ext, e.type, (array,))
    return (array,)


def _wide(s: Lowering, se: ir.SE) -> ir.SE:
    """Convert an integer to i64."""
    prim = prim_of(se)
    if prim == "i64":
        return se
    return literal(se.value, "i64") if isinstance(se, ir.Lit) else ir.Conv(prim, "i64", se)


def _in_order(kind: str, first: ir.SE, end: ir.SE) -> ir.SE:
    """Return the condition that a unit-step range has its ends in order, in their own type."""
    low, high = (end, first) if kind == "..>" else (first, end)
    return ir.TRUE if low == literal(0, "u64") else ir.Bin("<=", prim_of(first), low, high)


def _unsigned_count(
    s: Lowering, kind: str, first: ir.SE, second: ir.SE, end: ir.SE, text: Message
) -> Poly:
    """Return the number of elements of a u64 range; asserts that it is valid.

    The distance of its ends may exceed i64.
    """
    first, end = s.atom(first, "first"), s.atom(end, "end")

    def before(lhs: ir.SE, rhs: ir.SE) -> ir.SE:
        return ir.Bin("-", "u64", rhs, lhs)

    rises: ir.SE = s.atom(ir.Bin("<", "u64", first, second), "rises")
    falls: ir.SE = ir.Bin("<", "u64", second, first)
    up: ir.SE = both(rises, ir.Bin("<=", "u64", first, end))
    down: ir.SE = both(falls, ir.Bin("<=", "u64", end, first))
    s.check({"..<": up, "..>": down, "...": either(up, down)}[kind], text)
    moved = ir.Select(rises, before(first, end), before(end, first))
    step = ir.Select(rises, before(first, second), before(second, first))
    steps = ir.Bin("max", "u64", step, literal(1, "u64"))  # never 0: that has been checked
    far, each = s.atom(moved, "distance"), s.atom(steps, "step")
    whole = s.atom(ir.Bin("//", "u64", far, each), "steps")
    s.check(ir.Bin("<=", "u64", whole, literal(LARGEST, "u64")), text)
    count = s.poly(ir.Conv("u64", "i64", whole), "n")
    if kind == "...":
        s.check_size(count, text)
        return _sized(s, count + 1, text)
    rest = ir.Bin("!=", "u64", ir.Bin("%%", "u64", far, each), literal(0, "u64"))
    return _sized(s, count + s.poly(ir.Conv("bool", "i64", rest), "rest"), text)


def _range_count(
    s: Lowering,
    kind: str,
    start: ir.SE,
    stop: ir.SE,
    step: ir.SE,
    text: Message,
    wide: bool,
    in_order: ir.SE | None = None,
) -> Poly:
    """Return the number of elements of a range; asserts that it is valid.

    `wide`: its ends have 64 bits, which may be too few for their distance. `in_order`:
    the condition that its ends are in order, if these are not i64.
    """
    distance = sub(stop, start)
    inclusive = kind == "..."
    if step == ir.ONE:
        total = s.poly(distance)
        if in_order is not None or s.facts.decide("<=", start, stop) is not True:
            s.check(in_order or ir.Bin("<=", "i64", start, stop), text)
        if inclusive:
            # One more than there are 64-bit numbers is no number: the distance is looked at.
            s.check_size(total, text)
        return _sized(s, total + 1 if inclusive else total, text)
    if step == MINUS_ONE and not inclusive:
        s.check(in_order or ir.Bin("<=", "i64", stop, start), text)
        return _sized(s, s.poly(sub(start, stop)), text)
    more = abs(int(step.value)) - (not inclusive) if isinstance(step, ir.Lit) else 0
    more = min(more, 1) if inclusive else more
    up: ir.SE = ir.Bin("<=", "i64", start, stop)
    down: ir.SE = ir.Bin("<=", "i64", stop, start)
    if wide:
        up = both(up, _rise_fits(start, stop, more))
        down = both(down, _fall_fits(start, stop, more))
    rises, falls = ir.Bin("<", "i64", ir.ZERO, step), ir.Bin("<", "i64", step, ir.ZERO)
    if inclusive:
        s.check(either(both(rises, up), both(falls, down)), text)
        return _sized(s, s.poly(ir.Bin("//", "i64", distance, step), "n") + 1, text)
    s.check(both(rises, up) if kind == "..<" else both(falls, down), text)
    if isinstance(step, ir.Lit):
        round_up = literal(more if kind == "..<" else -more, "i64")
        return _sized(s, s.poly(ir.Bin("//", "i64", add(distance, round_up), step), "n"), text)
    steps = s.poly(ir.Bin("//", "i64", distance, step), "n")
    rest = ir.Bin("!=", "i64", ir.Bin("%%", "i64", distance, step), ir.ZERO)
    return _sized(s, steps + s.poly(ir.Conv("bool", "i64", rest), "rest"), text)


def _sized(s: Lowering, size: Poly, text: Message) -> Poly:
    """Check that `size` is valid, and return it."""
    s.check_size(size, text)
    return size


# --- positions ---------------------------------------------------------------------------------


def _positions(s: Lowering, dims: tuple[ty.DimIndex, ...]) -> list[Position]:
    """Lower the indices and slices of an access."""
    return [
        _position(s, se(s, dim.at))
        if isinstance(dim, ty.IndexFix)
        else tuple(
            None if part is None else simple(s, se(s, part), name)
            for name, part in (("start", dim.start), ("stop", dim.stop), ("step", dim.step))
        )
        for dim in dims
    ]


def _subscript(s: Lowering, dims: list[Position], shape: tuple[Poly, ...]) -> Subscript:
    """Return a subscript for an array of that shape, with its bounds conditions."""
    found: list[ir.DimIndex] = []
    full: ir.SE = ir.TRUE
    needed: ir.SE = ir.TRUE
    text: list[str | ir.SE] = [OUT_OF_BOUNDS]
    shown = len(s.facts.shown)
    for k, dim in enumerate(dims):
        if k:
            text.append(", ")
        if not isinstance(dim, tuple):
            found.append(ir.DimFix(dim))
            cond, still = _in_bounds(s, dim, shape[k])
            text.append(dim)
        else:
            piece, cond, still, words = _slice_dim(s, dim, shape[k])
            found.append(piece)
            text.extend(words)
        full, needed = both(full, cond), both(needed, still)
    text += ["] out of bounds for array of shape ", *show_shape(shape), "."]
    why = tuple(s.facts.shown[shown:])
    return Subscript(tuple(found), full, needed, tuple(text), why)


def _position(s: Lowering, at: ir.SE) -> ir.SE:
    """Convert an index to i64, simple enough to be repeated."""
    at = _wide(s, at)
    if isinstance(at, ir.Conv) and isinstance(at.arg, ir.Lit | ir.Var):
        return at
    if isinstance(at, ir.Bin) and at.op == "%" and isinstance(at.rhs, ir.Lit | ir.Var):
        return at
    poly = poly_of(at)
    if poly is None or len(poly.terms) > 3 or any(len(mono) > 1 for mono in poly.terms):
        return s.atom(at, "i")
    return at


def _in_bounds(s: Lowering, at: ir.SE, size: Poly) -> tuple[ir.SE, ir.SE]:
    """Return `0 <= at < size`, and the part that is not known to hold."""
    low, high = ir.Bin("<=", "i64", ir.ZERO, at), ir.Bin("<", "i64", at, se_of(size))
    full = both(low, high)
    if s.facts.within(at, size):
        return full, ir.TRUE
    return full, both(_open_part(s, low), _open_part(s, high))


def _open_part(s: Lowering, cond: ir.Bin) -> ir.SE:
    """Return a comparison, or `true` if it is known to hold."""
    return ir.TRUE if s.facts.decide(cond.op, cond.lhs, cond.rhs) is True else cond


def _slice_dim(
    s: Lowering, dim: tuple[ir.SE | None, ...], size: Poly
) -> tuple[ir.DimSlice, ir.SE, ir.SE, Message]:
    """Return a `start:stop:step`: the slice, its condition, the open part of that, the text."""
    start, stop, given = dim
    step: ir.SE = ir.ONE if given is None else s.atom(given, "step")
    length = se_of(size)
    if not isinstance(step, ir.Lit):
        back: ir.SE = ir.Bin("<", "i64", step, ir.ZERO)
        start = start or s.atom(ir.Select(back, sub(length, ir.ONE), ir.ZERO), "start")
        stop = stop or s.atom(ir.Select(back, MINUS_ONE, length), "stop")
    elif step.value < 0:
        start, stop = start or simple(s, sub(length, ir.ONE), "start"), stop or MINUS_ONE
    else:
        start, stop = start or ir.ZERO, stop or length
    words: Message = (start, ":", stop)
    if given is not None:
        words = (*words, ":", step)
    if step == MINUS_ONE and dim[:2] == (None, None):
        return ir.DimSlice(start, size, step), ir.TRUE, ir.TRUE, words
    if step == ir.ONE:
        return (*_unit_slice(s, start, stop, size), words)
    piece, ok = _strided_slice(s, start, stop, step, size)
    return piece, ok, ok, words


def simple(s: Lowering, se: ir.SE, hint: str) -> ir.SE:
    """Return `se` if it is a polynomial, else a name for it."""
    return se if poly_of(se) is not None else s.atom(se, hint)


def _unit_slice(
    s: Lowering, start: ir.SE, stop: ir.SE, size: Poly
) -> tuple[ir.DimSlice, ir.SE, ir.SE]:
    """Return `start:stop`; valid if empty, or ordered and in bounds.

    The condition depends on one end only where the other is known: that `l:n` of `n` elements is in
    bounds does not depend on its being empty.
    """
    first, last = s.poly(start), s.poly(stop)
    piece = ir.DimSlice(start, last - first, ir.ONE)
    ordered = ir.Bin("<=", "i64", start, stop)
    low, high = ir.Bin("<=", "i64", ir.ZERO, start), ir.Bin("<=", "i64", stop, se_of(size))
    empty = ir.Bin("==", "i64", start, stop)
    full = either(empty, both(both(low, ordered), high))
    if s.facts.rising(first, last, size):
        return piece, full, ir.TRUE
    needed: ir.SE = ir.TRUE
    inside: ir.SE = ir.TRUE
    for cond, other in (
        (low, ir.Bin("<=", "i64", ir.ZERO, stop)),
        (high, ir.Bin("<=", "i64", start, se_of(size))),
    ):
        part = _open_part(s, cond)
        if part == ir.TRUE or s.facts.decide(other.op, other.lhs, other.rhs) is True:
            needed = both(needed, part)
        else:
            inside = both(inside, part)
    needed = both(needed, _open_part(s, ordered))
    return piece, full, needed if inside == ir.TRUE else both(needed, either(empty, inside))


def _strided_slice(
    s: Lowering, start: ir.SE, stop: ir.SE, step: ir.SE, size: Poly
) -> tuple[ir.DimSlice, ir.SE]:
    """Return `start:stop:step`; valid if empty, or the first and last element are in bounds."""
    length = se_of(size)
    distance = sub(stop, start)
    if isinstance(step, ir.Lit) and step.value == 0:
        return ir.DimSlice(start, Poly.const(0), step), ir.FALSE
    if step == MINUS_ONE:
        count = s.poly(sub(start, stop))
    else:
        safe = step
        if not isinstance(step, ir.Lit):
            # Of steps as long as MOST_STEP an array has one, to which a distance may be added.
            is_zero = ir.Bin("==", "i64", step, ir.ZERO)
            clamped = ir.Bin("max", "i64", ir.Bin("min", "i64", step, MOST_STEP), LEAST_STEP)
            safe = s.atom(ir.Select(is_zero, ir.ONE, clamped), "step")
        elif abs(step.value) > MOST_STEP.value:
            safe = MOST_STEP if step.value > 0 else LEAST_STEP
        rounded = add(distance, sub(safe, ir.Un("sgn", "i64", safe)))
        if isinstance(safe, ir.Lit):
            rounded = add(distance, ir.Lit(int(safe.value) - (1 if safe.value > 0 else -1), "i64"))
        count = s.poly(ir.Bin("//", "i64", rounded, safe), "n")
    last = add(start, ir.Bin("*", "i64", sub(se_of(count), ir.ONE), step))
    up = both(ir.Bin("<=", "i64", ir.ZERO, start), ir.Bin("<=", "i64", start, stop))
    up = both(up, ir.Bin("<", "i64", last, length))
    down = both(ir.Bin("<=", "i64", MINUS_ONE, stop), ir.Bin("<=", "i64", stop, start))
    down = both(down, both(ir.Bin("<", "i64", start, length), ir.Bin("<=", "i64", ir.ZERO, last)))
    if isinstance(step, ir.Lit):
        fits = up if step.value > 0 else down
    else:
        fits = ir.Select(ir.Bin("<", "i64", step, ir.ZERO), down, up)
    fits = both(ir.Bin("<=", "i64", ir.ZERO, se_of(count)), fits)
    empty: ir.SE = ir.Bin("==", "i64", se_of(count), ir.ZERO)
    if not _is_distance(s, start, stop):
        forward, ahead = ir.Bin("<=", "i64", start, stop), ir.Bin("<=", "i64", ir.ZERO, distance)
        empty = both(empty, ir.Bin("==", "bool", forward, ahead))
    ok = either(empty, fits)
    if not isinstance(step, ir.Lit):
        ok = both(ir.Bin("!=", "i64", step, ir.ZERO), ok)
    return ir.DimSlice(start, count, step), ok


def _is_distance(s: Lowering, start: ir.SE, stop: ir.SE) -> bool:
    """Return True if the difference of two positions is known to fit in 64 bits."""
    return all(s.facts.decide("<=", MINUS_ONE, at) is True for at in (start, stop))


def _check_subscript(s: Lowering, subscript: Subscript, shape: tuple[Poly, ...]) -> None:
    """Assert that the positions are in bounds; plain variables are known indices afterwards."""
    cond = subscript.full
    if subscript.needed != cond:
        said = "Bounds check removed: ranges and conditions keep the index in bounds."
        if subscript.needed != ir.TRUE:
            said = "Bounds check shortened: ranges and conditions prove the rest."
        outcome = Applied(subscript.needed, said)
        cond = s.ctx.commit(BOUNDS, s.prov, outcome) or cond
    how: Literal["dropped", "unsafe", "repeated", "made"] = "made"
    if cond == ir.TRUE:
        how = "dropped"
    elif s.unsafe:
        how = "unsafe"
    elif s.facts.is_true(cond):
        how = "repeated"
    why = subscript.why if cond != subscript.full else ()
    s.ctx.fates.append(Fate(s.prov, how, why))
    s.check(cond, subscript.text)
    s.facts.learn(subscript.full, True)


# --- reading and writing -----------------------------------------------------------------------


@handles(RULES, ty.Index)
def _index(s: Lowering, e: ty.Index, hint: Name) -> Value:
    """Lower an access to an element or a view per component."""
    value = s.lower(e.array)
    first = value[0]
    if not isinstance(first, Arr):
        raise CompilerBug("an index into no array", e.span)
    s.prov = (e.span,)
    dims = _positions(s, e.dims)
    s.prov = (e.span,)
    subscript = _subscript(s, dims, first.shape)
    s.prov = (e.span,)
    _check_subscript(s, subscript, first.shape)
    if not components(e.type):
        return ()
    names = s.names(hint or _part_name(s, e, first), e.type)
    result = tuple(
        _read(s, x, subscript.dims, name)
        for x, name in zip(value, names, strict=True)
        if isinstance(x, Arr)
    )
    s.bind_sizes(e.ext, e.type, result)
    return result


def _part_name(s: Lowering, e: ty.Index, array: Arr) -> Name:
    """Name a part of an array."""
    base = base_of(e.array.name if isinstance(e.array, ty.Var) else array.name)
    return f"{base}_el" if isinstance(e.type, PrimT) else f"{base}_part"


def _read(s: Lowering, array: Arr, dims: tuple[ir.DimIndex, ...], name: Name) -> ir.SE | Arr:
    """Return `array[dims]`, unchecked."""
    if len(dims) == len(array.shape) and all(isinstance(d, ir.DimFix) for d in dims):
        at = tuple(d.at for d in dims if isinstance(d, ir.DimFix))
        element = s.scalar(ir.Index(array.name, at), array.prim, name)
        s.parts[element.name] = (array.name, dims)
        return element
    full, shape = full_slice(s, array, dims)
    part = s.view(ir.Slice(array.name, full), array, shape, name)
    s.parts[part.name] = (array.name, full)
    return part


def full_slice(
    s: Lowering, array: Arr, dims: tuple[ir.DimIndex, ...]
) -> tuple[tuple[ir.DimIndex, ...], tuple[Poly, ...]]:
    """Extend `dims` by the array's other dimensions in full; return the selected shape too."""
    full = (*dims, *full_slices(array.shape[len(dims) :]))
    return full, selected(full)


@handles(RULES, ty.Update)
def _update(s: Lowering, e: ty.Update, hint: Name) -> Value:
    """Lower an update per component; the new value is evaluated first."""
    dims, inner = _nested(s, e)
    at = _positions(s, dims)
    new = s.lower(inner)
    value = s.lower(e.array)
    first = value[0]
    if not isinstance(first, Arr):
        raise CompilerBug("an update of no array", e.span)
    s.prov = (e.span,)
    subscript = _subscript(s, at, first.shape)
    s.prov = (e.span,)
    _check_subscript(s, subscript, first.shape)
    if not new:
        return value
    names = names_of_result(s, e.type, e.array, hint)
    return written(s, value, new, subscript.dims, e.type, names, isinstance(e.array, ty.Index))


def names_of_result(s: Lowering, t: Type, source: ty.Exp, hint: Name) -> list[Name]:
    """Name the components of an updated array after the source, if it has a name."""
    return s.names(base_of(hint or (source.name if isinstance(source, ty.Var) else "")), t)


def written(
    s: Lowering,
    value: Value,
    new: Value,
    dims: tuple[ir.DimIndex, ...],
    t: Type,
    names: list[Name],
    is_view: bool,
) -> Value:
    """Write `new` at `dims` of arrays of type `t`; arrays that hold it already stay unchanged."""
    result: list[Arr] = []
    taken: set[Name] = set()
    value, new = alike(s, t, value, new)
    for array, component, name, (_, sizes, _) in zip(value, new, names, components(t), strict=True):
        assert isinstance(array, Arr)
        full, shape = full_slice(s, array, dims)
        if isinstance(component, Arr | ir.Var) and s.parts.get(component.name) == (
            array.name,
            full,
        ):
            result.append(array)
            continue
        item = _apart(s, fit(s, component, shape, sizes), array)
        if array.name in taken or array.borrowed or is_view:
            array = s.copied(array, name)
        taken.add(array.name)
        exp = ir.Update(array.name, full, operand(item))
        result.append(s.array(exp, array.prim, array.shape, name))
    return tuple(result)


def _nested(s: Lowering, e: ty.Update) -> tuple[tuple[ty.DimIndex, ...], ty.Exp]:
    """Flatten `a with [i] = (a[i] with [j] = v)` to `a with [i, j] = v`."""
    dims, value = e.dims, e.value
    while isinstance(value, ty.Update) and isinstance(value.array, ty.Index):
        source = value.array
        same = key_of(replace(source, dims=dims)) == key_of(source)
        fixed = all(isinstance(d, ty.IndexFix) for d in dims)
        if not (fixed and same and key_of(source.array) == key_of(e.array)):
            break
        s.ctx.fates.append(Fate((value.span,), "joined"))
        s.ctx.fates.append(Fate((source.span,), "joined"))
        dims, value = (*dims, *value.dims), value.value
    return dims, value


def _apart(s: Lowering, component: ir.SE | Arr, array: Arr) -> ir.SE | Arr:
    """Copy `component` if it is a view of the array to be overwritten."""
    if isinstance(component, Arr) and s.base_of(component) == s.base_of(array):
        return s.copied(component)
    return component
