"""Exhaustiveness and redundancy of `match`, with an example of a missing value.

Uses the usual matrix algorithm: split the first column by constructors, recurse on the rest.
"""

from __future__ import annotations

from compiler import codes
from compiler.base.errors import TypeError_
from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.check.types.metas import resolve
from compiler.frontend.types import PrimT, Record, Sum, Type

Row = tuple[t.Pat | None, ...]
"""The patterns of one case; None matches everything."""


def check_exhaustive(type_: Type, pats: tuple[t.Pat, ...], span: Span) -> None:
    """Demand that `pats` cover `type_`.

    Errors: `TypeError_` with a value that no case matches.
    """
    missing = _missing([(_simple(p),) for p in pats], (type_,))
    if missing is not None:
        raise TypeError_(
            codes.types.NOT_MATCHED,
            f"No case matches the value `{missing[0]}`.",
            span,
            "Add a case for all other values: `case _ -> ..`."
            if missing == ["_"]
            else "Add a case for it.",
        )


def _simple(pat: t.Pat) -> t.Pat | None:
    return None if isinstance(pat, (t.PVar, t.PWild)) else pat


def _missing(rows: list[Row], types: tuple[Type, ...]) -> list[str] | None:
    """Return one value per type that no row matches, or None."""
    if not types:
        return None if rows else []
    if not rows:
        return ["_"] * len(types)
    type_ = resolve(types[0])
    rest = types[1:]
    heads = [row[0] for row in rows]
    if isinstance(type_, Record) and any(isinstance(h, t.PRecord) for h in heads):
        return _missing_record(rows, type_, rest)
    if isinstance(type_, Sum) and any(isinstance(h, t.PConstr) for h in heads):
        return _missing_sum(rows, type_, rest)
    values = {h.value for h in heads if isinstance(h, t.PLit)}
    if isinstance(type_, PrimT) and type_.prim == "bool" and values:
        return _missing_bool(rows, rest)
    for value in values:
        part = [row[1:] for row in rows if _accepts(row[0], value)]
        found = _missing(part, rest)
        if found is not None:
            return [str(value), *found]
    found = _missing([row[1:] for row in rows if row[0] is None], rest)
    return None if found is None else ["_", *found]


def _accepts(pat: t.Pat | None, value: object) -> bool:
    return pat is None or (isinstance(pat, t.PLit) and pat.value == value)


def _missing_bool(rows: list[Row], rest: tuple[Type, ...]) -> list[str] | None:
    for value in (True, False):
        found = _missing([row[1:] for row in rows if _accepts(row[0], value)], rest)
        if found is not None:
            return ["true" if value else "false", *found]
    return None


def _missing_record(rows: list[Row], type_: Record, rest: tuple[Type, ...]) -> list[str] | None:
    count = len(type_.fields)
    expanded: list[Row] = []
    for row in rows:
        head = row[0]
        inner: Row = (None,) * count
        if isinstance(head, t.PRecord):
            inner = tuple(_simple(p) for _, p in head.fields)
        expanded.append((*inner, *row[1:]))
    found = _missing(expanded, (*(u for _, u in type_.fields), *rest))
    if found is None:
        return None
    return [f"({', '.join(found[:count])})", *found[count:]]


def _missing_sum(rows: list[Row], type_: Sum, rest: tuple[Type, ...]) -> list[str] | None:
    for name, args in type_.variants:
        part: list[Row] = []
        for row in rows:
            head = row[0]
            if head is None:
                part.append((*(None,) * len(args), *row[1:]))
            elif isinstance(head, t.PConstr) and head.name == name:
                part.append((*(_simple(p) for p in head.args), *row[1:]))
        found = _missing(part, (*args, *rest))
        if found is not None:
            return [" ".join([f"#{name}", *found[: len(args)]]), *found[len(args) :]]
    return None


# --- cases that nothing reaches ------------------------------------------------------------------


def is_covered(type_: Type, earlier: tuple[t.Pat, ...], pat: t.Pat) -> bool:
    """Test whether the patterns `earlier`, alone or together, match all that `pat` matches.

    False also where that is hard to decide: several of them together match only what `pat` does.
    """
    if any(_takes(p, pat) for p in earlier):
        return True
    return _missing([(_simple(p),) for p in earlier], (type_,)) is None


def _takes(general: t.Pat, pat: t.Pat) -> bool:
    match general, pat:
        case ((t.PVar() | t.PWild()), _):
            return True
        case t.PLit(value=a), t.PLit(value=b):
            return a == b
        case t.PConstr(name=a, args=these), t.PConstr(name=b, args=those):
            return a == b and all(map(_takes, these, those))
        case t.PRecord(fields=these), t.PRecord(fields=those):
            return all(_takes(p, q) for (_, p), (_, q) in zip(these, those, strict=True))
    return False
