"""Print types and sizes in Futhark's notation.

Error messages show names as their author wrote them; panes pass `full=True` and show the unique
names.
"""

from __future__ import annotations

import re

from compiler.base.names import base_of
from compiler.frontend.types import (
    Array,
    Arrow,
    Opaque,
    PrimT,
    Record,
    Size,
    SizeConst,
    SizeExp,
    SizeOp,
    SizeVar,
    Sum,
    Type,
    TypeVar,
)


def show_type(t: Type, full: bool = False) -> str:
    """Print a type: `[n](i32, f64) -> bool`."""
    match t:
        case PrimT(prim):
            return prim
        case TypeVar(name):
            return name if full else base_of(name)
        case Array(dims, elem):
            inner = show_type(elem, full)
            if isinstance(elem, (Arrow, Sum)):
                inner = f"({inner})"
            return "".join(f"[{show_size(d, full)}]" for d in dims) + inner
        case Record(fields):
            return _record(fields, full)
        case Arrow():
            return _arrow(t, full)
        case Sum(variants):
            return " | ".join(_variant(name, args, full) for name, args in variants)
        case Opaque(_, shown, args, sizes):
            given = [f"[{show_size(d, full)}]" for d in sizes]
            return " ".join([shown, *given, *(_atom(u, full) for u in args)])
    return "?"


def is_tuple(fields: tuple[tuple[str, object], ...]) -> bool:
    """Test whether a record's fields are those of a tuple (or unit)."""
    return len(fields) != 1 and all(name == str(i) for i, (name, _) in enumerate(fields))


def _record(fields: tuple[tuple[str, Type], ...], full: bool, fresh: tuple[str, ...] = ()) -> str:
    """`fresh`: the fields whose types have `*`."""
    texts = [(name, "*" * (name in fresh) + show_type(t, full)) for name, t in fields]
    if is_tuple(fields):
        return f"({', '.join(text for _, text in texts)})"
    return f"{{{', '.join(f'{name}: {text}' for name, text in texts)}}}"


def _variant(name: str, args: tuple[Type, ...], full: bool) -> str:
    return " ".join([f"#{name}", *(_atom(t, full) for t in args)])


def _atom(t: Type, full: bool) -> str:
    text = show_type(t, full)
    return f"({text})" if isinstance(t, (Arrow, Sum)) else text


def _arrow(t: Arrow, full: bool) -> str:
    param = ("*" if t.consumes else "") + _atom(t.param, full)
    if t.name:
        param = f"({t.name if full else base_of(t.name)}: {param})"
    exists = "".join(f"[{n if full else base_of(n)}]" for n in t.ext)
    if t.fresh_fields and isinstance(t.result, Record):
        result = _record(t.result.fields, full, t.fresh_fields)
    else:
        result = ("*" if t.unique else "") + show_type(t.result, full)
    return f"{param} -> {f'?{exists}.' if exists else ''}{result}"


_NAME = re.compile(r"[^\W\d][\w']*")
_OF_TYPE = re.compile(r" @\w+")
_LEVEL = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}


def show_size(s: Size, full: bool = False, level: int = 0) -> str:
    """Print a size: `n + 1`; an unknown one is empty."""
    match s:
        case SizeConst(value):
            return str(value)
        case SizeVar(name):
            return name if full else base_of(name)
        case SizeOp(op, lhs, rhs):
            own = _LEVEL.get(op, 3)
            left, right = show_size(lhs, full, own) or "_", show_size(rhs, full, own + 1) or "_"
            text = f"{left} {op} {right}"
            return f"({text})" if own < level else text
        case SizeExp(key):
            text = _ITSELF.sub("_", key) if full else _drop_tags(key)
            whole = not full and not level and text[0] == "(" and text[-1] == ")"
            return text[1:-1] if whole else text
    return ""


_ITSELF = re.compile(r"\?\d+")
"""In keys of expressions: a part that equals only itself, such as a function."""


def _drop_tags(key: str) -> str:
    return _NAME.sub(lambda name: base_of(name[0]), _OF_TYPE.sub("", key))
