"""What fails in every run, as far as literals and sizes tell; cases that no value reaches.

And what a later version of the language no longer has.
"""

from __future__ import annotations

from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.check.finish.exhaustive import is_covered
from compiler.frontend.check.types.size_exps import symbolic
from compiler.frontend.parts import parts
from compiler.frontend.show_type import show_size
from compiler.frontend.types import Array, Size, SizeConst
from compiler.frontend.warning import Warning_

_COMPARED = "Compare the elements, as in `and (map2 (==) xs ys)`."
_FROM_0 = "Indexes count from 0; the last element of `xs` is `last xs`."


def certain(prog: t.TypedProg) -> list[Warning_]:
    """Warnings about the program's own definitions."""
    found: list[Warning_] = []
    todo = [d.body for d in prog.defs if not d.span.file]
    while todo:
        e = todo.pop()
        if not e.span.file:
            _look(e, found)
        todo.extend(parts(e))
    return found


def _look(e: t.Exp, found: list[Warning_]) -> None:
    match e:
        case t.Assert(cond=t.Const(value=False)):
            found.append(Warning_("This assertion always fails.", e.span))
        case t.Index(array=array, dims=dims) | t.Update(array=array, dims=dims):
            if isinstance(array.type, Array):
                for dim, size in zip(dims, array.type.dims, strict=False):
                    _position(dim, size, found)
        case t.PrimOp(op="/" | "%" | "//" | "%%", at=at, args=(_, t.Const(value=0))):
            if at[0] != "f":
                found.append(Warning_("This always divides by zero.", e.span))
        case t.Match():
            _cases(e, found)
        case t.Apply(fn=t.Var(name="intrinsics.zip"), args=(left, _)) if left.span != e.span:
            # What a comparison of arrays is spelt out as; that of a part has the span of all.
            found.append(Warning_("Comparing whole arrays is deprecated.", e.span, _COMPARED))


def _position(dim: t.DimIndex, size: Size, found: list[Warning_]) -> None:
    """An index, or the start of a slice, that is outside of every array of that size."""
    if isinstance(dim, t.IndexSlice):
        if isinstance(dim.start, t.Const) and dim.start.value < 0 and dim.stop is dim.step is None:
            found.append(Warning_("This slice is always out of bounds.", dim.start.span, _FROM_0))
        return
    at = dim.at
    if isinstance(at, t.Const):
        if at.value < 0:
            found.append(Warning_("This index is always out of bounds.", at.span, _FROM_0))
        elif isinstance(size, SizeConst) and at.value >= size.value:
            found.append(_beyond(at.span, size))
    elif symbolic(at) == size:
        found.append(_beyond(at.span, size))


def _beyond(span: Span, size: Size) -> Warning_:
    return Warning_(
        "This index is always out of bounds.",
        span,
        f"The size is `{show_size(size)}`, and indexes count from 0.",
    )


def _cases(e: t.Match, found: list[Warning_]) -> None:
    """Cases that no value reaches; not those of comparisons of sums, which are matches by now.

    All patterns of these have the span of the comparison.
    """
    pats = tuple(case.pat for case in e.cases)
    for i, pat in enumerate(pats):
        if i and pat.span != e.span and is_covered(e.exp.type, pats[:i], pat):
            found.append(
                Warning_("No value reaches this case: those above take them all.", pat.span)
            )
