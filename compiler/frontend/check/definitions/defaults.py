"""The end of a definition: decide open size equations, give overloaded types their defaults."""

from __future__ import annotations

from compiler import codes
from compiler.base.errors import TypeError_
from compiler.base.spans import Span
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.metas import PRIM_T, MetaT, resolve
from compiler.frontend.check.types.sizes import unify_size
from compiler.frontend.check.types.unify import final_size
from compiler.frontend.show_type import show_size
from compiler.frontend.types import Size


def solve_sizes(st: Checker) -> None:
    """Decide the deferred size equations.

    Errors: sizes that differ, or that nothing in the program makes equal.
    """
    pending = st.deferred
    progress = True
    while pending and progress:
        progress = False
        rest: list[tuple[Size, Size, Span]] = []
        for want, got, span in pending:
            done = unify_size(want, got, st.alias)
            if done is False:
                raise _unequal(want, got, span)
            if done is None:
                rest.append((want, got, span))
            else:
                progress = True
        pending = rest
    st.deferred = []
    for want, got, span in pending:
        raise _unequal(want, got, span)


def _unequal(want: Size, got: Size, span: Span) -> TypeError_:
    left, right = show_size(final_size(want)), show_size(final_size(got))
    return TypeError_(
        codes.sizes.DIFFER,
        f"The sizes `{left}` and `{right}` must be equal here, but the compiler cannot show it.",
        span,
        "If they are equal, claim it with a size coercion: `e :> [n]t`.",
    )


def apply_defaults(st: Checker) -> None:
    """Default number types to i32 or f64; records and sums must be known by now.

    Errors: a type that nothing determines.
    """
    for meta in st.overloaded:
        found = resolve(meta)
        if isinstance(found, MetaT) and found.prims is not None:
            found.ref = PRIM_T[default_of(found.prims)]
    for meta in st.overloaded:
        found = resolve(meta)
        if isinstance(found, MetaT):
            _must_be_known(st, found, meta.span)
    st.overloaded = []


def default_of(prims: frozenset[str]) -> str:
    """Return the default among these primitive types."""
    for prim in ("i32", "f64", "bool"):
        if prim in prims:
            return prim
    return min(prims)


def _must_be_known(st: Checker, meta: MetaT, span: Span) -> None:
    if meta.variants is not None:
        _close_sum(st, meta, span)
        return
    if meta.fields:
        field = next(iter(meta.fields))
        raise TypeError_(
            codes.types.UNKNOWN,
            f"The type of the record with the field `{field}` is unknown here.",
            span,
            "Write its type where it is bound.",
        )
    if meta.equality:
        raise TypeError_(codes.types.UNKNOWN, "The type of the compared values is unknown.", span)


def _close_sum(st: Checker, meta: MetaT, span: Span) -> None:
    assert meta.variants is not None
    names = " | ".join(f"#{name}" for name in sorted(meta.variants))
    raise TypeError_(
        codes.types.UNKNOWN,
        f"The sum type of `{names}` is unknown here.",
        span,
        "Write the type: `(#name : type)`.",
    )
