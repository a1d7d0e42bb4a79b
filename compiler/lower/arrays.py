"""Array literals, ranges, indexing, slices and updates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from compiler.algebra.argument import Argument
from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Fate
from compiler.base.rules import Rule
from compiler.frontend import typed as ty
from compiler.frontend.types import Array, PrimT, Type, row_of
from compiler.ir import nodes as ir
from compiler.ir.build import both, either, full_slices
from compiler.ir.nodes import (
    FALSE,
    ONE,
    SE,
    TRUE,
    ZERO,
    Bin,
    Conv,
    DimFix,
    DimSlice,
    Lit,
    Select,
    Un,
    Var,
)
from compiler.ir.sizes import poly_of, prim_of, se_of
from compiler.ir.slices import selected
from compiler.lower.build import Lower, Lowering
from compiler.lower.components import components
from compiler.lower.exps import literal, se
from compiler.lower.measure import key_of
from compiler.lower.values import Arr, Message, Value, operand, show_shape

BOUNDS = Rule(
    "soa/bounds", "Drops bounds checks, or parts of them, that ranges and conditions answer."
)

LARGEST = 2**63 - 1
MINUS_ONE = Lit(-1, "i64")
Position = SE | tuple[SE | None, ...]
"""An index, or the three parts of a slice."""


@dataclass(frozen=True, slots=True)
class Subscript:
    """Positions in an array, for its first dimensions.

    `full` says when they are inside, `needed` what of it is not shown already; `text` is what a
    failure says.
    """

    dims: tuple[ir.DimIndex, ...]
    full: SE
    needed: SE
    text: Message
    why: tuple[Argument, ...]
    """On which arguments no more is needed."""


OUT_OF_BOUNDS = "Index ["
"""How the message begins of a check that an access is inside its array."""


def add(lhs: SE, rhs: SE) -> SE:
    """`lhs + rhs` at i64, folded where both are literals."""
    return _fold("+", lhs, rhs)


def sub(lhs: SE, rhs: SE) -> SE:
    """`lhs - rhs` at i64, folded where both are literals."""
    return _fold("-", lhs, rhs)


def _rise_fits(start: SE, stop: SE, more: int) -> SE:
    """Whether `stop - start + more` is told by 64 bits, if `start <= stop`; nothing wraps here."""
    most = LARGEST - more
    if isinstance(start, Lit):
        if start.value >= more:
            return TRUE
        return Bin("<=", "i64", stop, literal(int(start.value) + most, "i64"))
    end = Bin("+", "i64", start, literal(most, "i64"))
    return either(Bin("<=", "i64", literal(more, "i64"), start), Bin("<=", "i64", stop, end))


def _fall_fits(start: SE, stop: SE, more: int) -> SE:
    """Whether `start - stop + more` is told by 64 bits, if `stop <= start`; nothing wraps here."""
    most = LARGEST - more
    if isinstance(start, Lit):
        if start.value < -more:
            return TRUE
        return Bin("<=", "i64", literal(int(start.value) - most, "i64"), stop)
    end = Bin("-", "i64", start, literal(most, "i64"))
    return either(Bin("<", "i64", start, literal(-more, "i64")), Bin("<=", "i64", end, stop))


def _fold(op: str, lhs: SE, rhs: SE) -> SE:
    if isinstance(rhs, Lit):
        if rhs.value == 0:
            return lhs
        if isinstance(lhs, Lit):
            return literal(lhs.value + rhs.value if op == "+" else lhs.value - rhs.value, "i64")
    if op == "+" and lhs == ZERO:
        return rhs
    return Bin(op, "i64", lhs, rhs)


def _array_lit(s: Lowering, e: ty.ArrayLit, hint: Name) -> Value:
    """One literal per component of the element type."""
    if not isinstance(e.type, Array):
        raise CompilerBug("an array literal of no array type", e.span)
    elem = row_of(e.type)
    rows = [s.lower(x) for x in e.elems]
    s.prov = (e.span,)
    declared = components(elem) or (("bool", (), ""),)
    names = s.names(hint or "a", e.type)
    result: list[Arr] = []
    for k, (prim, dims, _) in enumerate(declared):
        column = [row[k] if row else FALSE for row in rows]
        first = column[0] if column else None
        if isinstance(first, Arr):
            shape = first.shape
        else:
            shape = tuple(s.known_size(d) or Poly.const(0) for d in dims)
        elems = tuple(operand(s.expect(x, shape)) for x in column)
        full = (Poly.const(len(elems)), *shape)
        exp = ir.ArrayLit(elems) if elems else ir.Scratch(prim, full)
        result.append(s.array(exp, prim, full, names[k]))
    return tuple(result)


def _string(s: Lowering, e: ty.StringConst, hint: Name) -> Value:
    """The bytes of a string."""
    shape = (Poly.const(len(e.value)),)
    elems = tuple(Lit(b, "u8") for b in e.value)
    exp = ir.ArrayLit(elems) if elems else ir.Scratch("u8", shape)
    return (s.array(exp, "u8", shape, hint or "s"),)


# --- ranges ------------------------------------------------------------------------------------


def _range_exp(s: Lowering, e: ty.Range, hint: Name) -> Value:
    """`first..second..end`: checked, counted, then an `Iota`."""
    first = se(s, e.first)
    second = None if e.second is None else se(s, e.second)
    end = se(s, e.end)
    s.prov = (e.span,)
    prim = prim_of(first)
    if not (poly_of(first) and poly_of(end)):
        first, end = s.atom(first, "first"), s.atom(end, "end")
    text: list[str | SE] = ["Range ", first]
    if second is not None:
        second = s.atom(second, "second")
        text += ["..", second]
    text += [e.kind, end, " is invalid."]
    start, stop = _wide(s, first), _wide(s, end)
    if second is None:
        step: SE = MINUS_ONE if e.kind == "..>" else ONE
    else:
        step = s.atom(sub(_wide(s, second), start), "step")
    wide = prim in ("i64", "u64")
    count = _range_count(s, e.kind, start, stop, step, tuple(text), wide)
    exp = ir.Iota(count, first, Conv("i64", prim, step) if prim != "i64" else step, prim)
    if isinstance(step, Lit):
        exp = ir.Iota(count, first, literal(step.value, prim), prim)
    array = s.array(exp, prim, (count,), hint or "range")
    if first == literal(0, prim) and step == ONE:
        s.iotas[array.name] = count
    s.bind_sizes(e.ext, e.type, (array,))
    return (array,)


def _wide(s: Lowering, se: SE) -> SE:
    """An integer as i64."""
    prim = prim_of(se)
    if prim == "i64":
        return se
    return literal(se.value, "i64") if isinstance(se, Lit) else Conv(prim, "i64", se)


def _range_count(
    s: Lowering, kind: str, start: SE, stop: SE, step: SE, text: Message, wide: bool
) -> Poly:
    """How many elements a range has; asserts that it is valid.

    `wide`: its ends have 64 bits, which may be too few for the number of its elements.
    """
    distance = sub(stop, start)
    inclusive = kind == "..."
    if step == ONE:
        total = s.poly(distance)
        if s.facts.decide("<=", start, stop) is not True:
            s.check(Bin("<=", "i64", start, stop), text)
        if inclusive:
            # One more than there are 64-bit numbers is no number: the distance is looked at.
            s.check_size(total, text)
        return _sized(s, total + 1 if inclusive else total, text)
    if step == MINUS_ONE and not inclusive:
        s.check(Bin("<=", "i64", stop, start), text)
        return _sized(s, s.poly(sub(start, stop)), text)
    more = abs(int(step.value)) - (not inclusive) if isinstance(step, Lit) else 0
    more = min(more, 1) if inclusive else more
    up: SE = Bin("<=", "i64", start, stop)
    down: SE = Bin("<=", "i64", stop, start)
    if wide:
        up = both(up, _rise_fits(start, stop, more))
        down = both(down, _fall_fits(start, stop, more))
    rises, falls = Bin("<", "i64", ZERO, step), Bin("<", "i64", step, ZERO)
    if inclusive:
        s.check(either(both(rises, up), both(falls, down)), text)
        return _sized(s, s.poly(Bin("//", "i64", distance, step), "n") + 1, text)
    s.check(both(rises, up) if kind == "..<" else both(falls, down), text)
    if isinstance(step, Lit):
        round_up = literal(more if kind == "..<" else -more, "i64")
        return _sized(s, s.poly(Bin("//", "i64", add(distance, round_up), step), "n"), text)
    steps = s.poly(Bin("//", "i64", distance, step), "n")
    rest = Bin("!=", "i64", Bin("%%", "i64", distance, step), ZERO)
    return _sized(s, steps + s.poly(Conv("bool", "i64", rest), "rest"), text)


def _sized(s: Lowering, size: Poly, text: Message) -> Poly:
    """`size`, if an array can have it."""
    s.check_size(size, text)
    return size


# --- positions ---------------------------------------------------------------------------------


def _positions(s: Lowering, dims: tuple[ty.DimIndex, ...]) -> list[Position]:
    """The parts of an index, evaluated."""
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
    """Positions in an array of that shape, with what must hold for them."""
    found: list[ir.DimIndex] = []
    full: SE = TRUE
    needed: SE = TRUE
    text: list[str | SE] = [OUT_OF_BOUNDS]
    shown = len(s.facts.shown)
    for k, dim in enumerate(dims):
        if k:
            text.append(", ")
        if not isinstance(dim, tuple):
            found.append(DimFix(dim))
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


def _position(s: Lowering, at: SE) -> SE:
    """An index as i64, simple enough to be mentioned several times."""
    at = _wide(s, at)
    if isinstance(at, Conv) and isinstance(at.arg, Lit | Var):
        return at
    if isinstance(at, Bin) and at.op == "%" and isinstance(at.rhs, Lit | Var):
        return at
    poly = poly_of(at)
    if poly is None or len(poly.terms) > 3 or any(len(mono) > 1 for mono in poly.terms):
        return s.atom(at, "i")
    return at


def _in_bounds(s: Lowering, at: SE, size: Poly) -> tuple[SE, SE]:
    """`0 <= at < size`, and as much of it as is not plain already."""
    low, high = Bin("<=", "i64", ZERO, at), Bin("<", "i64", at, se_of(size))
    full = both(low, high)
    if s.facts.within(at, size):
        return full, TRUE
    return full, both(_open_part(s, low), _open_part(s, high))


def _open_part(s: Lowering, cond: Bin) -> SE:
    """A comparison, or `true` if it is known to hold."""
    return TRUE if s.facts.decide(cond.op, cond.lhs, cond.rhs) is True else cond


def _slice_dim(
    s: Lowering, dim: tuple[SE | None, ...], size: Poly
) -> tuple[DimSlice, SE, SE, Message]:
    """One `start:stop:step`: the slice, when it is valid, what of that is open, its text."""
    start, stop, given = dim
    step: SE = ONE if given is None else s.atom(given, "step")
    length = se_of(size)
    if not isinstance(step, Lit):
        back: SE = Bin("<", "i64", step, ZERO)
        start = start or s.atom(Select(back, sub(length, ONE), ZERO), "start")
        stop = stop or s.atom(Select(back, MINUS_ONE, length), "stop")
    elif step.value < 0:
        start, stop = start or simple(s, sub(length, ONE), "start"), stop or MINUS_ONE
    else:
        start, stop = start or ZERO, stop or length
    words: Message = (start, ":", stop)
    if given is not None:
        words = (*words, ":", step)
    if step == MINUS_ONE and dim[:2] == (None, None):
        return DimSlice(start, size, step), TRUE, TRUE, words
    if step == ONE:
        return (*_unit_slice(s, start, stop, size), words)
    piece, ok = _strided_slice(s, start, stop, step, size)
    return piece, ok, ok, words


def simple(s: Lowering, se: SE, hint: str) -> SE:
    """`se` itself if it is a polynomial, else a name for it."""
    return se if poly_of(se) is not None else s.atom(se, hint)


def _unit_slice(s: Lowering, start: SE, stop: SE, size: Poly) -> tuple[DimSlice, SE, SE]:
    """`start:stop`; valid if empty, or ordered and inside."""
    first, last = s.poly(start), s.poly(stop)
    conditions = (
        Bin("<=", "i64", ZERO, start),
        Bin("<=", "i64", start, stop),
        Bin("<=", "i64", stop, se_of(size)),
    )
    full: SE = TRUE
    needed: SE = TRUE
    for cond in conditions:
        full = both(full, cond)
        needed = both(needed, _open_part(s, cond))
    if s.facts.rising(first, last, size):
        needed = TRUE
    empty = Bin("==", "i64", start, stop)
    needed = needed if needed == TRUE else either(empty, needed)
    return DimSlice(start, last - first, ONE), either(empty, full), needed


def _strided_slice(s: Lowering, start: SE, stop: SE, step: SE, size: Poly) -> tuple[DimSlice, SE]:
    """`start:stop:step`; valid if empty, or the first and last element are inside."""
    length = se_of(size)
    distance = sub(stop, start)
    if isinstance(step, Lit) and step.value == 0:
        return DimSlice(start, Poly.const(0), step), FALSE
    if step == MINUS_ONE:
        count = s.poly(sub(start, stop))
    else:
        safe = step
        if not isinstance(step, Lit):
            is_zero = Bin("==", "i64", step, ZERO)
            safe = s.atom(Select(is_zero, ONE, step), "step")
        towards = Un("sgn", "i64", safe)
        rounded = add(distance, sub(safe, towards))
        if isinstance(safe, Lit):
            rounded = add(distance, Lit(int(safe.value) - (1 if safe.value > 0 else -1), "i64"))
        count = s.poly(Bin("//", "i64", rounded, safe), "n")
    last = add(start, Bin("*", "i64", sub(se_of(count), ONE), step))
    up = both(Bin("<=", "i64", ZERO, start), Bin("<=", "i64", start, stop))
    up = both(up, Bin("<", "i64", last, length))
    down = both(Bin("<=", "i64", MINUS_ONE, stop), Bin("<=", "i64", stop, start))
    down = both(down, both(Bin("<", "i64", start, length), Bin("<=", "i64", ZERO, last)))
    if isinstance(step, Lit):
        fits = up if step.value > 0 else down
    else:
        fits = Select(Bin("<", "i64", step, ZERO), down, up)
    fits = both(Bin("<=", "i64", ZERO, se_of(count)), fits)
    ok = either(Bin("==", "i64", se_of(count), ZERO), fits)
    if not isinstance(step, Lit):
        ok = both(Bin("!=", "i64", step, ZERO), ok)
    return DimSlice(start, count, step), ok


def _check_subscript(s: Lowering, subscript: Subscript, shape: tuple[Poly, ...]) -> None:
    """Assert that the positions are inside; plain variables are indices from here on."""
    cond = subscript.full
    if subscript.needed != cond:
        said = "Bounds check removed: ranges and conditions keep the index inside."
        if subscript.needed != TRUE:
            said = "Bounds check shortened: ranges and conditions prove the rest."
        outcome = Applied(subscript.needed, said)
        cond = s.ctx.commit(BOUNDS, s.prov, outcome) or cond
    how: Literal["dropped", "unsafe", "repeated", "made"] = "made"
    if cond == TRUE:
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


def _index(s: Lowering, e: ty.Index, hint: Name) -> Value:
    """An element or a view per component."""
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
    """What a part of an array is called."""
    base = base_of(e.array.name if isinstance(e.array, ty.Var) else array.name)
    return f"{base}_el" if isinstance(e.type, PrimT) else f"{base}_part"


def _read(s: Lowering, array: Arr, dims: tuple[ir.DimIndex, ...], name: Name) -> SE | Arr:
    """`array[dims]`, not checked."""
    if len(dims) == len(array.shape) and all(isinstance(d, DimFix) for d in dims):
        at = tuple(d.at for d in dims if isinstance(d, DimFix))
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
    """`dims` with the array's other dimensions in full, and the shape that they select."""
    full = (*dims, *full_slices(array.shape[len(dims) :]))
    return full, selected(full)


def _update(s: Lowering, e: ty.Update, hint: Name) -> Value:
    """The array with some positions replaced, per component; the new value is evaluated first."""
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
    return written(s, value, new, subscript.dims, names, isinstance(e.array, ty.Index))


def names_of_result(s: Lowering, t: Type, source: ty.Exp, hint: Name) -> list[Name]:
    """What the components of an updated array are called: as what was updated, if it has a name."""
    return s.names(base_of(hint or (source.name if isinstance(source, ty.Var) else "")), t)


def written(
    s: Lowering,
    value: Value,
    new: Value,
    dims: tuple[ir.DimIndex, ...],
    names: list[Name],
    is_view: bool,
) -> Value:
    """Arrays with `dims` replaced; with what they have there already, they stay as they are."""
    result: list[Arr] = []
    taken: set[Name] = set()
    for array, component, name in zip(value, new, names, strict=True):
        assert isinstance(array, Arr)
        full, shape = full_slice(s, array, dims)
        if isinstance(component, Arr | Var) and s.parts.get(component.name) == (array.name, full):
            result.append(array)
            continue
        item = _apart(s, s.expect(component, shape), array)
        if array.name in taken or array.borrowed or is_view:
            array = s.copied(array, name)
        taken.add(array.name)
        exp = ir.Update(array.name, full, operand(item))
        result.append(s.array(exp, array.prim, array.shape, name))
    return tuple(result)


def _nested(s: Lowering, e: ty.Update) -> tuple[tuple[ty.DimIndex, ...], ty.Exp]:
    """All positions of `a with [i] = (a[i] with [j] = v)`, which is `a with [i, j] = v`."""
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


def _apart(s: Lowering, component: SE | Arr, array: Arr) -> SE | Arr:
    """`component`, copied if it is a view of the array that is to be overwritten."""
    if isinstance(component, Arr) and s.base_of(component) == s.base_of(array):
        return s.copied(component)
    return component


RULES: dict[type, Lower] = {
    ty.StringConst: _string,
    ty.ArrayLit: _array_lit,
    ty.Range: _range_exp,
    ty.Index: _index,
    ty.Update: _update,
}
