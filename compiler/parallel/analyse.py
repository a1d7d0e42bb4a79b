"""What a nest's body offers: which statements are worth running in parallel, and which cannot be.

A parallel operator inside a map is exploited if it is *regular*: its width, and the shapes of its
results, are the same at every point of the nest, so that all points together fill one space.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.base.remarks import Missed
from compiler.base.rules import Rule
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import (
    SE,
    SE_NODES,
    Array,
    Body,
    ForLoop,
    Hist,
    If,
    Lambda,
    Loop,
    Map,
    Operator,
    Reduce,
    Scan,
    Stm,
)
from compiler.ir.types import shape_of
from compiler.ir.walk import free
from compiler.parallel.nest import Nest, Scope
from compiler.parallel.sequentialise import SOACS

TOO_SMALL = Rule(
    "flatten/small", "Tells of parallelism that is too small to be used.", optional=False
)
IRREGULAR = Rule(
    "flatten/irregular", "Tells of parallelism that stays inside of threads.", optional=False
)
OPERATOR = Rule(
    "flatten/operator", "Tells of an operator that stays inside of threads.", optional=False
)
INTERCHANGE_LOOP = Rule(
    "flatten/interchange-loop", "Takes a loop around inner parallelism out of the map."
)
INTERCHANGE_IF = Rule(
    "flatten/interchange-if", "Takes a branch that is the same for all elements out of the map."
)

SMALL = 16
"""An operator over at most so many constant elements is left to one thread."""

_NAMES = {"Map": "map", "Reduce": "reduce", "Scan": "scan", "Scatter": "scatter", "Hist": "hist"}


def is_known(sc: Scope, names: Iterable[Name], extra: frozenset[Name] = frozenset()) -> bool:
    """Whether all names are bound outside the nest, or will be."""
    return all(name in sc.host or name in extra for name in names)


def invariant_names(
    sc: Scope, stms: tuple[Stm, ...], extra: frozenset[Name] = frozenset()
) -> frozenset[Name]:
    """`extra`, and the scalars of a body that are the same at every point of the nest."""
    found = set(extra)
    for stm in stms:
        if not isinstance(stm.exp, SE_NODES) or not cannot_fail(stm.exp):
            continue
        if all(name in sc.host or name in found for name in free(stm.exp)):
            found.add(stm.pat[0].name)
    return frozenset(found)


def has_parallelism(
    sc: Scope, nest: Nest, stms: tuple[Stm, ...], extra: frozenset[Name] = frozenset()
) -> bool:
    """Whether a body holds a statement that is worth running in parallel with its nest."""
    known = invariant_names(sc, stms, extra)
    found = False
    for stm in stms:
        sc.note(stm)
        # No shortcut: every operator that is left to one thread has its remark.
        found = is_parallel(sc, nest, stm, known) or found
    return found


def is_parallel(sc: Scope, nest: Nest, stm: Stm, extra: frozenset[Name] = frozenset()) -> bool:
    """Whether a statement has parallelism that can be made part of its nest."""
    match stm.exp:
        case Loop(_, _, _, body):
            if not any(type(s.exp) in _NESTING for s in body.stms):
                return False
            return _loop_is_parallel(sc, nest, stm, extra)
        case If(cond, then, orelse):
            return _if_is_parallel(sc, nest, stm, cond, (then, orelse), extra)
        case Map() | Reduce() | Scan():
            return _soac_is_parallel(sc, nest, stm, extra)
        case exp if type(exp) in SOACS:
            return _soac_is_parallel(sc, nest, stm, extra)
    return False


_NESTING = SOACS | {Loop, If}


def _soac_is_parallel(sc: Scope, nest: Nest, stm: Stm, extra: frozenset[Name]) -> bool:
    exp = stm.exp
    width: Poly = exp.width  # type: ignore[union-attr]
    what = _NAMES[type(exp).__name__]
    if nest and not _is_regular(sc, stm, what, width, extra):
        return False
    fn: Lambda = exp.fn  # type: ignore[union-attr]
    if nest:
        for op in operators(exp):
            if not _operator_is_known(sc, stm, what, op, extra):
                return False
    size = width.constant
    if size is not None and size <= SMALL:
        if has_parallelism(sc, nest, fn.body.stms, extra):
            return True
        if nest:
            because = f"The inner `{what}` has only {size} elements: each thread runs it as a loop."
            sc.ctx.commit(TOO_SMALL, stm.prov, Missed(because))
        return False
    return True


def operators(exp: object) -> tuple[Operator, ...]:
    """The operators of a reduction, scan or histogram; none for others."""
    if isinstance(exp, Reduce | Scan):
        return exp.ops
    return tuple(op.op for op in exp.ops) if isinstance(exp, Hist) else ()


def _is_regular(sc: Scope, stm: Stm, what: str, width: Poly, extra: frozenset[Name]) -> bool:
    sizes = [width]
    for param in stm.pat:
        sizes.extend(shape_of(param.type))
    unknown = sorted({n for size in sizes for n in size.names() if not is_known(sc, (n,), extra)})
    if not unknown:
        return True
    name = unknown[0]
    why = _depends(sc, name)
    because = (
        f"The inner `{what}` works on `{_readable(width)}` elements, and {why}: its size differs "
        "from one element of the outer map to the next, so each thread runs it as a loop."
    )
    hint = "Give all rows one size, or flatten by hand (a segmented array with its row lengths)."
    sc.ctx.commit(IRREGULAR, stm.prov, Missed(because, hint))
    return False


def _depends(sc: Scope, name: Name) -> str:
    """Why a size differs from point to point, in words."""
    made = sc.defs.get(name)
    if made is not None:
        on = sorted({base_of(n) for n in free(made) if n not in sc.host})
        if on:
            return f"`{base_of(name)}` depends on {' and '.join(f'`{n}`' for n in on[:3])}"
    source = sc.resolve(name)
    if source.index:
        return f"`{base_of(name)}` is an element of `{base_of(source.array)}`"
    return f"`{base_of(name)}` is computed inside of the map"


def _readable(size: Poly) -> str:
    return str(size.subst({n: Poly.var(base_of(n)) for n in size.names()}))


def _operator_is_known(
    sc: Scope, stm: Stm, what: str, op: Operator, extra: frozenset[Name]
) -> bool:
    """Whether an operator and its neutral element are the same at every point of the nest."""
    if not is_known(sc, free(op.neutral), extra):
        because = (
            f"The neutral element of the inner `{what}` differs from one element of the outer map "
            "to the next, so each thread runs it as a loop from that value."
        )
    elif not is_known(sc, free(op.fn), extra):
        because = (
            f"The operator of the inner `{what}` uses values of the outer map, so each thread runs "
            "it as a loop."
        )
    else:
        return True
    sc.ctx.commit(OPERATOR, stm.prov, Missed(because))
    return False


def _loop_is_parallel(sc: Scope, nest: Nest, stm: Stm, extra: frozenset[Name]) -> bool:
    loop = stm.exp
    assert isinstance(loop, Loop)
    inside = extra
    if isinstance(loop.form, ForLoop):
        inside = extra | {loop.form.index}
    known = invariant_names(sc, loop.body.stms, inside)
    if not has_parallelism(sc, nest, loop.body.stms, known):
        return False
    if not nest:
        return True
    if not isinstance(loop.form, ForLoop):
        because = (
            "The while loop around the inner parallelism ends at a different time for every "
            "element of the outer map, so each thread runs all of it."
        )
    elif not is_known(sc, free(loop.form.bound), extra):
        because = (
            "The number of iterations of the loop around the inner parallelism differs from one "
            "element of the outer map to the next, so each thread runs all of it."
        )
    elif not all(is_known(sc, _type_names(p.type), extra) for p in loop.params):
        because = "The size of what the loop carries changes, so each thread runs all of it."
    elif not all(is_known(sc, _type_names(p.type), extra) for p in stm.pat):
        because = "The size of the loop's result is not known outside, so each thread runs it."
    else:
        return True
    sc.ctx.commit(INTERCHANGE_LOOP, stm.prov, Missed(because))
    return False


def _if_is_parallel(
    sc: Scope, nest: Nest, stm: Stm, cond: SE, bodies: tuple[Body, Body], extra: frozenset[Name]
) -> bool:
    found = [has_parallelism(sc, nest, body.stms, extra) for body in bodies]
    if not any(found):
        return False
    if not nest:
        return True
    if not is_known(sc, free(cond), extra):
        because = (
            "The condition around the inner parallelism differs from one element of the outer map "
            "to the next, so each thread runs its branch as it is."
        )
    elif not all(is_known(sc, _type_names(p.type), extra) for p in stm.pat):
        because = "The branches return arrays of a size that is not known outside."
    else:
        return True
    sc.ctx.commit(INTERCHANGE_IF, stm.prov, Missed(because))
    return False


def _type_names(type_: object) -> set[Name]:
    return {n for size in type_.shape for n in size.names()} if isinstance(type_, Array) else set()


def is_regular_type(sc: Scope, type_: object, extra: frozenset[Name]) -> bool:
    """Whether a value has the same shape at every point of the nest."""
    return is_known(sc, _type_names(type_), extra)
