"""Analyse a nest's body: find statements worth running in parallel, and obstacles.

A parallel operator inside a map is exploited if it is *regular*: its width, and the shapes of its
results, are invariant in the nest, so that all threads together fill one space. `INNER_RULES`
decide about a statement; an operator that none of them refuses gets kernels of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule
from compiler.ir import nodes as ir
from compiler.ir.may_fail import total
from compiler.ir.types import shape_of
from compiler.ir.walk import free
from compiler.parallel.nest import FlatteningScope
from compiler.parallel.sequentialise import SOACS

SMALL = 16
"""An operator over at most so many constant elements is left to one thread."""
_NONE: frozenset[Name] = frozenset()
_NESTING = SOACS | {ir.Loop, ir.If}


# --- what is invariant -----------------------------------------------------------------------


def is_invariant(
    sc: FlatteningScope, names: Iterable[Name], invariant: frozenset[Name] = _NONE
) -> bool:
    """Return True if all names are bound outside the nest, or are among `invariant`."""
    return all(name in sc.host or name in invariant for name in names)


def invariant_names(
    sc: FlatteningScope, stms: tuple[ir.Stm, ...], invariant: frozenset[Name] = _NONE
) -> frozenset[Name]:
    """Return `invariant` with the scalars of a body that are equal in every thread of the nest.

    This includes scalars that may fail: code hoisted before the nest is made total
    (`may_fail.total`).
    """
    found = set(invariant)
    for stm in stms:
        exp = stm.exp
        if not isinstance(exp, ir.SE_NODES) or total(exp) is None:
            continue
        if all(name in sc.host or name in found for name in free(exp)):
            found.add(stm.pat[0].name)
    return frozenset(found)


def is_regular(sc: FlatteningScope, type_: ir.Type, invariant: frozenset[Name]) -> bool:
    """Return True if a value has the same shape in every thread of the nest."""
    return is_invariant(sc, (n for size in shape_of(type_) for n in size.names()), invariant)


# --- what is parallel ------------------------------------------------------------------------


def has_parallelism(
    sc: FlatteningScope, stms: tuple[ir.Stm, ...], invariant: frozenset[Name] = _NONE
) -> bool:
    """Return True if a body holds a statement that is worth running in parallel with its nest."""
    invariant = invariant_names(sc, stms, invariant)
    found = False
    for stm in stms:
        sc.note(stm)
        # No shortcut: every operator that is left to one thread has its remark.
        found = is_parallel(sc, stm, invariant) or found
    return found


def is_parallel(
    sc: FlatteningScope, stm: ir.Stm, invariant: frozenset[Name] = _NONE, *, decide: bool = False
) -> bool:
    """Return True if a statement has parallelism that can be made part of its nest.

    Leaves a remark if not. `decide`: the rule's rewrite will be done, unless it is switched off.
    """
    for rule in _BY_CLASS.get(type(stm.exp), ()):
        outcome: Outcome[bool] = rule.apply(sc, stm, invariant)
        if isinstance(outcome, Applied) and not decide:
            return True
        if outcome is not None:
            return sc.ctx.commit(rule, stm.prov, outcome) is not None
    return type(stm.exp) in SOACS


# --- rules: operators ------------------------------------------------------------------------


def irregular(sc: FlatteningScope, stm: ir.Stm, invariant: frozenset[Name]) -> Missed | None:
    """The width of an operator, and the shapes of its results, have to be invariant."""
    exp = stm.exp
    assert isinstance(exp, ir.Soac)
    sizes = [exp.width, *(size for param in stm.pat for size in shape_of(param.type))]
    varying = sorted(
        {n for size in sizes for n in size.names() if not is_invariant(sc, (n,), invariant)}
    )
    if not varying:
        return None
    because = (
        f"The inner `{_word(stm)}` works on `{_readable(exp.width)}` elements, and "
        f"{_depends(sc, varying[0])}: its size differs from one element of the outer map to the "
        "next, so each thread runs it as a loop."
    )
    hint = "Give all rows one size, or flatten by hand (a segmented array with its row lengths)."
    return Missed(because, hint)


def _word(stm: ir.Stm) -> str:
    return type(stm.exp).__name__.lower()


def _depends(sc: FlatteningScope, name: Name) -> str:
    """Explain why a size differs from thread to thread."""
    definition = sc.defs.get(name)
    if definition is not None:
        on = sorted({base_of(n) for n in free(definition) if n not in sc.host})
        if on:
            return f"`{base_of(name)}` depends on {' and '.join(f'`{n}`' for n in on[:3])}"
    source = sc.resolve(name)
    if source.index:
        return f"`{base_of(name)}` is an element of `{base_of(source.array)}`"
    return f"`{base_of(name)}` is computed inside of the map"


def _readable(size: Poly) -> str:
    return str(size.subst({n: Poly.var(base_of(n)) for n in size.names()}))


def varying_operator(sc: FlatteningScope, stm: ir.Stm, invariant: frozenset[Name]) -> Missed | None:
    """An operator and its neutral element have to be the same in every thread of the nest."""
    for op in _operators(stm):
        if not is_invariant(sc, free(op.neutral), invariant):
            return Missed(
                f"The neutral element of the inner `{_word(stm)}` differs from one element of the "
                "outer map to the next, so each thread runs it as a loop from that value."
            )
        if not is_invariant(sc, free(op.fn), invariant):
            return Missed(
                f"The operator of the inner `{_word(stm)}` uses values of the outer map, so each "
                "thread runs it as a loop."
            )
    return None


def _operators(stm: ir.Stm) -> tuple[ir.Operator, ...]:
    """Return the operators of a reduction, scan or histogram; () for others."""
    match stm.exp:
        case ir.Reduce(_, ops, _, _) | ir.Scan(_, ops, _, _):
            return ops
        case ir.Hist(_, hists, _, _):
            return tuple(hist.op for hist in hists)
    return ()


def too_small(sc: FlatteningScope, stm: ir.Stm, invariant: frozenset[Name]) -> Missed | None:
    """An operator over a few elements is worth no kernel, unless there is more inside of it."""
    exp = stm.exp
    assert isinstance(exp, ir.Soac)
    size = exp.width.constant
    if size is None or size > SMALL or has_parallelism(sc, exp.fn.body.stms, invariant):
        return None
    because = f"The inner `{_word(stm)}` has only {size} elements: each thread runs it as a loop."
    return Missed(because)


# --- rules: loops and branches ---------------------------------------------------------------


def loop_outside(sc: FlatteningScope, stm: ir.Stm, invariant: frozenset[Name]) -> Outcome[bool]:
    """`map (fn x => loop p = x for i < k do f p) ==> loop ps = xs for i < k do map f ps`."""
    loop = stm.exp
    assert isinstance(loop, ir.Loop)
    if not any(type(inner.exp) in _NESTING for inner in loop.body.stms):
        return None
    inside = invariant | {loop.form.index} if isinstance(loop.form, ir.ForLoop) else invariant
    if not has_parallelism(sc, loop.body.stms, inside):
        return None
    if not isinstance(loop.form, ir.ForLoop):
        return Missed(
            "The while loop around the inner parallelism ends at a different time for every "
            "element of the outer map, so each thread runs all of it."
        )
    if not is_invariant(sc, free(loop.form.bound), invariant):
        return Missed(
            "The number of iterations of the loop around the inner parallelism differs from one "
            "element of the outer map to the next, so each thread runs all of it."
        )
    if not all(is_regular(sc, p.type, invariant) for p in loop.params):
        return Missed("The size of what the loop carries changes, so each thread runs all of it.")
    if not all(is_regular(sc, p.type, invariant) for p in stm.pat):
        return Missed("The size of the loop's result is not known outside, so each thread runs it.")
    because = (
        "Every element of the map runs the loop equally often, so the loop moves "
        "outside and each of its iterations runs the map's kernels."
    )
    return Applied(True, because)


def branch_outside(sc: FlatteningScope, stm: ir.Stm, invariant: frozenset[Name]) -> Outcome[bool]:
    """`map (fn x => if c then f x else g x) ==> if c then map f else map g`, if c is invariant."""
    branch = stm.exp
    assert isinstance(branch, ir.If)
    inside = [has_parallelism(sc, body.stms, invariant) for body in (branch.then, branch.orelse)]
    if not any(inside):
        return None
    if not is_invariant(sc, free(branch.cond), invariant):
        return Missed(
            "The condition around the inner parallelism differs from one element of "
            "the outer map to the next, so each thread runs its branch sequentially."
        )
    if not all(is_regular(sc, p.type, invariant) for p in stm.pat):
        return Missed("The branches return arrays of a size that is not known outside.")
    because = "The condition is the same for every element of the map, so it is tested once."
    return Applied(True, because)


INNER_RULES = (
    NodeRule(
        "flatten/irregular",
        "Reports inner parallelism that each thread runs sequentially.",
        tuple(SOACS),
        irregular,
        optional=False,
    ),
    NodeRule(
        "flatten/operator",
        "Reports an operator that each thread runs sequentially.",
        (ir.Reduce, ir.Scan, ir.Hist),
        varying_operator,
        optional=False,
    ),
    NodeRule(
        "flatten/small",
        "Reports parallelism that is too small to use.",
        tuple(SOACS),
        too_small,
        optional=False,
    ),
    NodeRule(
        "flatten/interchange-loop",
        "Interchanges a map with a sequential loop around inner parallelism.",
        (ir.Loop,),
        loop_outside,
    ),
    NodeRule(
        "flatten/interchange-if",
        "Moves a condition that is the same for all elements out of the map.",
        (ir.If,),
        branch_outside,
    ),
)
_BY_CLASS = {
    kind: tuple(rule for rule in INNER_RULES if kind in rule.on)
    for kind in {kind for rule in INNER_RULES for kind in rule.on}
}
