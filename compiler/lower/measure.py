"""Children and size of typed expressions."""

from __future__ import annotations

from compiler.frontend.typed import (
    Apply,
    ArrayLit,
    Assert,
    Attr,
    Coerce,
    Const,
    Constr,
    Convert,
    DimIndex,
    Exp,
    For,
    ForIn,
    If,
    Index,
    IndexFix,
    Lambda,
    Let,
    LetFun,
    Loop,
    Match,
    PrimFun,
    PrimOp,
    Project,
    Range,
    RecordExp,
    RecordUpdate,
    Update,
    Var,
)


def children(e: Exp) -> list[Exp]:
    """The direct subexpressions, those of local functions included, sizes in types not."""
    match e:
        case PrimOp(args=args) | PrimFun(args=args):
            return list(args)
        case Apply(fn=fn, args=args):
            return [fn, *args]
        case Convert(exp=inner) | Project(exp=inner) | Coerce(exp=inner) | Attr(exp=inner):
            return [inner]
        case Lambda(body=body):
            return [body]
        case Let(rhs=rhs, body=body):
            return [rhs, body]
        case LetFun(fun=fun, body=body):
            return [fun.body, body]
        case If(cond=cond, then=then, orelse=orelse):
            return [cond, then, orelse]
        case Match(exp=inner, cases=cases):
            return [inner, *(case.body for case in cases)]
        case Loop(init=init, form=form, body=body):
            head = form.bound if isinstance(form, For) else None
            head = form.array if isinstance(form, ForIn) else head
            return [init, form.cond if head is None else head, body]  # type: ignore[union-attr]
        case RecordExp(fields=fields):
            return [exp for _, exp in fields]
        case RecordUpdate(exp=inner, value=value) | Assert(cond=inner, exp=value):
            return [inner, value]
        case ArrayLit(elems=elems) | Constr(args=elems):
            return list(elems)
        case Range(first=first, second=second, end=end):
            return [first, end] if second is None else [first, second, end]
        case Index(array=array, dims=dims):
            return [array, *_of_dims(dims)]
        case Update(array=array, dims=dims, value=value):
            return [array, *_of_dims(dims), value]
    return []


def _of_dims(dims: tuple[DimIndex, ...]) -> list[Exp]:
    found: list[Exp] = []
    for dim in dims:
        parts = (dim.at,) if isinstance(dim, IndexFix) else (dim.start, dim.stop, dim.step)
        found.extend(part for part in parts if part is not None)
    return found


def is_larger(e: Exp, limit: int) -> bool:
    """Whether `e` has more than `limit` nodes; looks at no more than that many."""
    work = [e]
    seen = 0
    while work:
        seen += 1
        if seen > limit:
            return True
        work.extend(children(work.pop()))
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
    return f"({head} {' '.join(key_of(child) for child in children(e))})"
