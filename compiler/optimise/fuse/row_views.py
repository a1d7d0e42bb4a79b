"""Maps that only put their rows in another order are views, until what they view is overwritten.

`simplify/soac-output` does so for arrays that nobody overwrites. Here the order of statements
counts: whoever reads the rows stands before the one who overwrites the array.
"""

from __future__ import annotations

from compiler.analysis.effects import must_stay
from compiler.base.context import Ctx
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.aliases import consumed
from compiler.ir.sharing import Classes


def row_views(
    stms: tuple[ir.Stm, ...], results: tuple[ir.Operand, ...], found: Classes, ctx: Ctx
) -> tuple[ir.Stm, ...]:
    """Apply the rule to every map of a body."""
    new = list(stms)
    for at, stm in enumerate(stms):
        view = _reordered(stm)
        if view is None:
            continue
        outcome = view_of_rows(stm, view)
        missed = _refused(stm, view, stms[at + 1 :], results, found)
        exp = ctx.commit(RULE, stm.prov, missed or outcome)
        if exp is not None:
            new[at] = ir.Stm(stm.pat, exp, stm.prov)
            found.join(stm.pat[0].name, view.array)
    return stms if all(a is b for a, b in zip(new, stms, strict=True)) else tuple(new)


def view_of_rows(stm: ir.Stm, view: ir.Rearrange) -> Outcome[ir.Rearrange]:
    """`map transpose xs ==> a view of xs`."""
    made, array = (base_of(name) for name in (stm.pat[0].name, view.array))
    return Applied(
        view,
        f"`{made}` is a view of `{array}`, which is overwritten only after the last "
        f"read of `{made}`.",
    )


def _reordered(stm: ir.Stm) -> ir.Rearrange | None:
    """The view of its input that a map makes, if it makes nothing else."""
    exp = stm.exp
    if not isinstance(exp, ir.Map) or len(stm.pat) != 1 or must_stay(exp):
        return None
    (value,) = exp.fn.body.results
    made = next((s.exp for s in exp.fn.body.stms if s.pat and s.pat[0].name == value), None)
    if not isinstance(made, ir.Rearrange):
        return None
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        if param.name == made.array:
            return ir.Rearrange((0, *(at + 1 for at in made.perm)), array)
    return None


def _refused(
    stm: ir.Stm,
    view: ir.Rearrange,
    after: tuple[ir.Stm, ...],
    results: tuple[ir.Operand, ...],
    found: Classes,
) -> Missed | None:
    """Explain which statement needs the rows after the array is overwritten, or overwrites them."""
    rows, array = found.find(stm.pat[0].name), found.find(view.array)
    said = f"`{base_of(stm.pat[0].name)}` is a separate array: "

    def within(names: object, group: Name) -> bool:
        return any(found.find(name) == group for name in walk.free(names))

    if rows == array or any(isinstance(r, str) and found.find(r) == rows for r in results):
        return Missed(f"{said}it is needed later.")
    gone = False
    for one in after:
        taken = {found.find(name) for name in consumed(one.exp)}
        gone = gone or array in taken
        if rows in taken:
            return Missed(f"{said}it is overwritten.")
        if gone and within(one, rows):
            return Missed(f"{said}`{base_of(view.array)}` is overwritten while it is needed.")
    return None


RULE = NodeRule(
    "fuse/rows-view",
    "Turns a map that only reorders the elements of its rows into a view, if the view "
    "is not read after the array is overwritten.",
    (ir.Map,),
    view_of_rows,
)
