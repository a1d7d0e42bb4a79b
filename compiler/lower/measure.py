"""How large typed expressions are, and which are equal."""

from __future__ import annotations

from compiler.frontend.parts import parts
from compiler.frontend.typed import (
    Apply,
    Const,
    Convert,
    Exp,
    Index,
    IndexFix,
    PrimFun,
    PrimOp,
    Project,
    RecordExp,
    Var,
)


def is_larger(e: Exp, limit: int) -> bool:
    """Whether `e` has more than `limit` nodes; looks at no more than that many."""
    work = [e]
    seen = 0
    while work:
        seen += 1
        if seen > limit:
            return True
        work.extend(parts(work.pop()))
    return False


def key_of(e: Exp) -> str:
    """A text that is equal for expressions of equal form; places and types do not matter."""
    match e:
        case Const(value=value):
            return str(value)
        case Var(name=name, size_args=sizes):
            return f"{name}{list(sizes) if sizes else ''}"
        case PrimOp(op=op, at=at):
            head = f"{op}:{at}"
        case PrimFun(fun=fun, at=at):
            head = f"{fun}:{at}"
        case Convert(to=to, exp=exp):
            head = f"{to}:{exp.type}"
        case Project(field=field):
            head = f".{field}"
        case Index(dims=dims):
            head = f"[{len(dims)}{''.join('.' if isinstance(d, IndexFix) else ':' for d in dims)}]"
        case Apply():
            head = "@"
        case RecordExp(fields=fields):
            head = "{" + ",".join(name for name, _ in fields) + "}"
        case _:
            return f"?{id(e)}"
    return f"({head} {' '.join(key_of(child) for child in parts(e))})"
