"""Warn of certain failures, as far as literals and sizes tell, and of unreachable cases.

Also of constructs that a later version of the language removes.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from compiler import codes
from compiler.base.names import base_of
from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.check.finish.exhaustive import is_covered
from compiler.frontend.check.types.size_exps import key_of, length_of, symbolic
from compiler.frontend.check.types.walks import names_in_type
from compiler.frontend.lint.slow import slow
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.parts import free_variables, parts
from compiler.frontend.show_type import show_size
from compiler.frontend.types import Array, Size, SizeConst, Sum

_COMPARED = "Compare the elements, as in `and (map2 (==) xs ys)`."
_UNWRITTEN = "The program fails where it needs the value."
_OTHER_NAME = "From Futhark 0.27 on it would call itself: rename it."
_NAMED = "Bind it to a name with `let` first, and use the name as the size."
_FROM_0 = "Indices count from 0; the last element of `xs` is `last xs`."


_last: dict[int, tuple[t.Exp, tuple[Warning_, ...]]] = {}
"""Cache of the previous program: definitions in unchanged files are the same objects."""


def certain_failures(defs: Iterable[t.Def]) -> list[Warning_]:
    """Return warnings about the program's definitions, and about uses of imported files."""
    found: dict[int, tuple[t.Exp, tuple[Warning_, ...]]] = {}
    for d in (d for d in defs if d.span.is_own):
        body = d.body
        known = _last.get(id(body))
        if known is None or known[0] is not body:
            known = body, in_definition(d)
        found[id(body)] = known
    _last.clear()
    _last.update(found)
    return [warning for _, of_body in found.values() for warning in of_body]


def in_definition(d: t.Def) -> tuple[Warning_, ...]:
    """Return warnings about one definition."""
    return (*_in_body(d.body), *_before_itself(d), *slow(d))


def _before_itself(d: t.Def) -> list[Warning_]:
    """Warn of a function that uses one of the prelude with its own name."""
    own = re.compile(rf"{re.escape(d.source_name)}_0\d+")
    if not d.params or not any(own.fullmatch(name) for name in free_variables(d.body)):
        return []
    message = f"This calls the prelude's `{d.source_name}`, not the function being defined."
    return [Warning_(codes.warnings.OWN_NAME, message, d.span, _OTHER_NAME)]


def _in_body(body: t.Exp) -> list[Warning_]:
    found: list[Warning_] = []
    todo = [body]
    while todo:
        e = todo.pop()
        if e.span.is_own:
            _look(e, found)
        todo.extend(parts(e))
    return found


def _look(e: t.Exp, found: list[Warning_]) -> None:
    match e:
        case t.Assert(cond=t.Const(value=False)):
            found.append(Warning_(codes.warnings.FAILS, "This assertion always fails.", e.span))
        case t.Hole(text=text):
            message = f"This hole has the type `{text}`."
            found.append(Warning_(codes.warnings.HOLE, message, e.span, _UNWRITTEN))
        case t.Index(array=array, dims=dims) | t.Update(array=array, dims=dims):
            if isinstance(array.type, Array):
                for dim, size in zip(dims, array.type.dims, strict=False):
                    _position(dim, size, found)
        case t.PrimOp(op="/" | "%" | "//" | "%%", at=at, args=(_, t.Const(value=0))):
            if at[0] != "f":
                found.append(
                    Warning_(codes.warnings.DIVISION, "This always divides by zero.", e.span)
                )
        case t.Match():
            _cases(e, found)
        case t.Attr(attr="#[unroll]" | "unroll", exp=t.Loop(form=form)) if not (
            isinstance(form, t.For) and isinstance(form.bound, t.Const)
        ):
            message = "`#[unroll]` has no effect: the number of iterations is not a literal."
            found.append(Warning_(codes.warnings.UNROLL, message, e.span))
        case t.Let(pat=t.PVar(span=span, name=name), rhs=rhs, type=type_) if (
            span == rhs.span and name in names_in_type(type_) and not key_of(rhs)
        ):
            message = "This size expression contains a binding, so the resulting size is unknown."
            found.append(Warning_(codes.warnings.UNTOLD, message, span, _NAMED))
        case t.Apply(fn=t.Var(name="intrinsics.zip"), args=(left, _)) if left.span != e.span:
            # The expansion of array equality; equality of a part has the span of the whole.
            found.append(
                Warning_(
                    codes.warnings.COMPARISON,
                    "Comparing whole arrays is deprecated.",
                    e.span,
                    _COMPARED,
                )
            )


def _position(dim: t.DimIndex, size: Size, found: list[Warning_]) -> None:
    """Warn of an index, or start of a slice, outside every array of that size."""
    if isinstance(dim, t.IndexSlice):
        if isinstance(dim.start, t.Const) and dim.start.value < 0 and dim.stop is dim.step is None:
            found.append(
                Warning_(
                    codes.warnings.BOUNDS,
                    "This slice is always out of bounds.",
                    dim.start.span,
                    _FROM_0,
                )
            )
        return
    at = dim.at
    if isinstance(at, t.Const):
        if at.value < 0:
            found.append(
                Warning_(
                    codes.warnings.BOUNDS, "This index is always out of bounds.", at.span, _FROM_0
                )
            )
        elif isinstance(size, SizeConst) and at.value >= size.value:
            found.append(_beyond(at.span, size))
    elif size in (symbolic(at), length_of(at)):
        found.append(_beyond(at.span, size))


def _beyond(span: Span, size: Size) -> Warning_:
    return Warning_(
        codes.warnings.BOUNDS,
        "This index is always out of bounds.",
        span,
        f"The size is `{show_size(size)}`, and indices count from 0.",
    )


def _cases(e: t.Match, found: list[Warning_]) -> None:
    """Warn of unreachable cases; not those of expanded equality of sums.

    All patterns of these have the span of the comparison.
    """
    pats = tuple(case.pat for case in e.cases)
    names = dict(e.exp.type.variants) if isinstance(e.exp.type, Sum) else {}
    for i, pat in enumerate(pats):
        if i and pat.span != e.span and is_covered(e.exp.type, pats[:i], pat):
            found.append(
                Warning_(
                    codes.warnings.UNREACHED,
                    "No value reaches this case: the cases above match all values.",
                    pat.span,
                    _meant(pats[:i], names),
                )
            )


def _meant(above: tuple[t.Pat, ...], constructors: Container[str]) -> str:
    """Hint at a catch-all name that is spelt like a constructor."""
    for pat in above:
        if isinstance(pat, t.PVar) and base_of(pat.name) in constructors:
            name = base_of(pat.name)
            return (
                f"`{name}` matches any value and binds it to a new name; the constructor is "
                f"`#{name}`."
            )
    return ""
