"""Size and equality of typed expressions."""

from __future__ import annotations

from compiler.frontend import typed as ty
from compiler.frontend.parts import parts
from compiler.frontend.types import Size, SizeConst, SizeVar


def is_larger(e: ty.Exp, limit: int) -> bool:
    """Return True if `e` has more than `limit` nodes; visits at most that many."""
    work = [e]
    seen = 0
    while work:
        seen += 1
        if seen > limit:
            return True
        work.extend(parts(work.pop()))
    return False


def key_of(e: ty.Exp) -> str:
    """Return a text equal for expressions of equal form, ignoring places and types."""
    match e:
        case ty.Const(value=value):
            return str(value)
        case ty.Var(name=name, size_args=sizes):
            return name + "".join(f"[{_size(size)}]" for size in sizes)
        case ty.PrimOp(op=op, at=at):
            head = f"{op}:{at}"
        case ty.PrimFun(fun=fun, at=at):
            head = f"{fun}:{at}"
        case ty.Convert(to=to, exp=exp):
            head = f"{to}:{exp.type}"
        case ty.Project(field=field):
            head = f".{field}"
        case ty.Index(dims=dims):
            head = (
                f"[{len(dims)}{''.join('.' if isinstance(d, ty.IndexFix) else ':' for d in dims)}]"
            )
        case ty.Apply():
            head = "@"
        case ty.RecordExp(fields=fields):
            head = "{" + ",".join(name for name, _ in fields) + "}"
        case _:
            return f"?{id(e)}"
    return f"({head} {' '.join(key_of(child) for child in parts(e))})"


def _size(size: Size) -> str:
    if isinstance(size, SizeVar):
        return size.name
    return str(size.value) if isinstance(size, SizeConst) else repr(size)
