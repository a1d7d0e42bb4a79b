"""Convert typed expressions to sizes and back.

Constants, variables and ring arithmetic become the symbolic forms of `sizes.py`; other expressions
are compared by their text (`SizeExp.key`), which has unique names in it. An expression whose text
says too little (a lambda, a loop, ..) has no key and equals no other.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import NOWHERE, Span
from compiler.frontend import typed as t
from compiler.frontend.check.types.metas import I64, MetaS, resolve, resolve_size
from compiler.frontend.parts import parts, pattern_variables
from compiler.frontend.types import (
    Array,
    PrimT,
    Size,
    SizeConst,
    SizeExp,
    SizeOp,
    SizeVar,
    Type,
)


@dataclass(frozen=True, slots=True)
class Overloaded(t.Exp):
    """An operator at a type that is not yet inferred; `finish/zonk.py` replaces it."""

    op: str
    operand: Type
    args: tuple[t.Exp, ...]


def _operand(exp: t.Exp, keyed: bool) -> Size | None:
    size = symbolic(exp, keyed)
    if size is None and (keyed or is_cheap(exp)):
        key = key_of(exp)
        return None if key is None else SizeExp(key, exp)
    return size


@dataclass(frozen=True, slots=True)
class SizeHole(t.Exp):
    """An unknown size inside an expression that is a size itself."""

    size: Size


RING = ("+", "-", "*", "/", "%")


def symbolic(exp: t.Exp, keyed: bool = False) -> Size | None:
    """Convert `exp` to a constant, name or arithmetic; None if it is anything else.

    Operands of arithmetic may be cheap expressions; with `keyed` any that have a key.
    """
    match exp:
        case SizeHole(size=size):
            return resolve_size(size)
        case t.Const(value=bool() | float()):
            return None
        case t.Const(value=value):
            return SizeConst(int(value))
        case t.Attr(parameter="", exp=inner) | t.Assert(exp=inner):
            return symbolic(inner, keyed)
        case t.Var(name=name, type_args=(), size_args=()):
            return SizeVar(name)
        case Overloaded(op=op, args=(lhs, rhs)) | t.PrimOp(op=op, args=(lhs, rhs)) if op in RING:
            left, right = _operand(lhs, keyed), _operand(rhs, keyed)
            return None if left is None or right is None else SizeOp(op, left, right)
    return None


def length_of(exp: t.Exp | None) -> Size | None:
    """Return the size of the array whose `length` an expression is, if it names the array.

    As a size `length xs` is another than the `n` of `xs: [n]t`, and computed as that one.
    """
    match exp:
        case t.Apply(fn=t.Var(name=name, size_args=(size,)), args=(array,)) if name.startswith(
            "length_0"
        ):
            while isinstance(array, (t.Index, t.Project)):
                array = array.array if isinstance(array, t.Index) else array.exp
            return resolve_size(size) if isinstance(array, t.Var) else None
    return None


def key_of(exp: t.Exp) -> str | None:
    """Return the text of a simple expression with unique names; equal texts imply equal values."""
    match exp:
        case t.Const(value=value):
            return repr(value)
        case SizeHole(size=size):
            return _hole_key(size)
        case t.Attr(parameter="", exp=inner) | t.Assert(exp=inner):
            return key_of(inner)
        case t.Var(name=name):
            return name
        case Overloaded(op=op, args=args) | t.PrimOp(op=op, args=args):
            keys = _keys(args)
            if keys is None:
                return None
            return f"({keys[0]} {op} {keys[1]})" if len(keys) == 2 else f"({op} {keys[0]})"
        case t.Apply(fn=fn, args=args):
            keys = _keys((fn, *args))
            return None if keys is None else f"({' '.join(keys)})"
        case t.PrimFun(fun=fun, args=args):
            keys = _keys(args)
            return None if keys is None else f"({fun} {' '.join(keys)})"
        case t.Convert(to=to, exp=inner):
            key = key_of(inner)
            return None if key is None else f"({to} {key})"
        case t.Project(exp=inner, field=field):
            key = key_of(inner)
            return None if key is None else f"{key}.{field}"
        case t.Index(array=array, dims=dims):
            return _index_key(array, dims)
        case t.RecordExp(fields=items):
            keys = _keys(tuple(e for _, e in items))
            return None if keys is None else f"({', '.join(keys)})"
        case t.Lambda(params=params, body=Overloaded(args=args) | t.PrimOp(args=args) as body):
            return _operator_key(params, args, body.op)
    return None


def _operator_key(params: tuple[t.Pat, ...], args: tuple[t.Exp, ...], op: str) -> str | None:
    """Return the text of `(+)` as a function of numbers whose type is known."""
    names = [p.name for p in params if isinstance(p, t.PVar)]
    type_ = resolve(args[0].type)
    if names != [a.name for a in args if isinstance(a, t.Var)] or not isinstance(type_, PrimT):
        return None
    return f"({op} @{type_.prim})" if len(names) == 2 else None


def _hole_key(size: Size) -> str | None:
    size = resolve_size(size)
    return size.key if isinstance(size, MetaS) else key_of(size_to_exp(size))


def _keys(exps: tuple[t.Exp, ...]) -> list[str] | None:
    keys = [key_of(e) for e in exps]
    found = [k for k in keys if k is not None]
    return found if len(found) == len(keys) else None


def _index_key(array: t.Exp, dims: tuple[t.DimIndex, ...]) -> str | None:
    key = key_of(array)
    at = _keys(tuple(d.at for d in dims if isinstance(d, t.IndexFix)))
    if key is None or at is None or len(at) != len(dims):
        return None
    return f"{key}[{', '.join(at)}]"


def is_cheap(exp: t.Exp) -> bool:
    """Test whether evaluating `exp` once per mention of a size costs next to nothing."""
    match exp:
        case t.Const() | t.Var(type_args=(), size_args=()):
            return True
        case t.Project(exp=inner) | t.Convert(exp=inner):
            return is_cheap(inner)
        case Overloaded(args=args) | t.PrimOp(args=args):
            return all(is_cheap(a) for a in args)
    return length_of(exp) is not None


def cheap_size(s: Size) -> bool:
    """Test whether a size can be computed wherever it is mentioned."""
    s = resolve_size(s)
    match s:
        case SizeOp(_, lhs, rhs):
            return cheap_size(lhs) and cheap_size(rhs)
        case SizeExp(_, exp):
            return isinstance(exp, t.Exp) and is_cheap(exp)
    return True


def size_to_exp(s: Size, span: Span = NOWHERE) -> t.Exp:
    """Return the i64 expression that computes `s`, which must be known."""
    s = resolve_size(s)
    match s:
        case SizeConst(value):
            return t.Const(I64, span, value)
        case SizeVar(name):
            return t.Var(I64, span, name)
        case SizeOp(op, lhs, rhs):
            return t.PrimOp(I64, span, op, "i64", (size_to_exp(lhs, span), size_to_exp(rhs, span)))
        case SizeExp(_, exp):
            assert isinstance(exp, t.Exp)
            return exp
    return SizeHole(I64, span, s)


# --- walks over sizes, and the expressions in them --------------------------------------------


def names_in_size(s: Size, found: set[Name]) -> None:
    """Add the variables of `s` to `found`."""
    s = resolve_size(s)
    match s:
        case SizeVar(name):
            found.add(name)
        case SizeOp(_, lhs, rhs):
            names_in_size(lhs, found)
            names_in_size(rhs, found)
        case SizeExp():
            names_in_size_exp(s, found)


def metas_in_size(s: Size, found: list[MetaS]) -> None:
    """Collect the unbound metavariables of a size."""
    while type(s) is MetaS and s.ref is not None:
        if s.known:
            return
        s = s.ref
    match s:
        case MetaS():
            found.append(s)
        case SizeOp(_, lhs, rhs):
            metas_in_size(lhs, found)
            metas_in_size(rhs, found)
        case SizeExp(key) if "?" in key:
            holes_in(s, found)


def names_in_size_exp(s: SizeExp, found: set[Name]) -> None:
    """Add the variables of a `SizeExp` that are free in it to `found`."""
    mentioned: set[Name] = set()
    bound: set[Name] = set()

    def visit(exp: t.Exp) -> None:
        if isinstance(exp, t.Var):
            mentioned.add(exp.name)
        elif isinstance(exp, SizeHole):
            names_in_size(exp.size, mentioned)
        elif isinstance(exp, t.Lambda):
            bound.update(v.name for pat in exp.params for v in pattern_variables(pat))

    assert isinstance(s.exp, t.Exp)
    walk(s.exp, visit)
    found |= mentioned - bound


def walk(exp: t.Exp, visit: Callable[[t.Exp], None]) -> None:
    """Call `visit` on `exp` and the expressions in it (simple forms only)."""
    visit(exp)
    for part in sub_expressions(exp):
        walk(part, visit)


def sub_expressions(exp: t.Exp) -> tuple[t.Exp, ...]:
    """Return the direct subexpressions, those of operators without a type included."""
    return exp.args if isinstance(exp, Overloaded) else parts(exp)


def holes_in(s: SizeExp, found: list[MetaS]) -> None:
    """Collect the unknown sizes inside."""

    def visit(exp: t.Exp) -> None:
        if isinstance(exp, SizeHole):
            metas_in_size(exp.size, found)

    if "?" in s.key:
        assert isinstance(s.exp, t.Exp)
        walk(s.exp, visit)


def same_shape(a: t.Exp, b: t.Exp, equal: Callable[[Size, Size], bool]) -> bool:
    """Test whether two expressions are equal once their holes are filled, which `equal` may do."""
    if isinstance(a, SizeHole) or isinstance(b, SizeHole):
        left, right = symbolic(a, keyed=True), symbolic(b, keyed=True)
        left = left if left is not None else as_size(a)
        right = right if right is not None else as_size(b)
        return left is not None and right is not None and equal(left, right)
    if type(a) is not type(b):
        return key_of(a) is not None and key_of(a) == key_of(b)
    mine, other = sub_expressions(a), sub_expressions(b)
    if not mine and not other:
        return key_of(a) == key_of(b)
    same = _label(a) == _label(b) and len(mine) == len(other)
    return same and all(same_shape(x, y, equal) for x, y in zip(mine, other, strict=True))


def as_size(exp: t.Exp) -> Size | None:
    """Convert `exp` to a size that is compared by its text, if it has one."""
    key = key_of(exp)
    return None if key is None else SizeExp(key, exp)


def _label(exp: t.Exp) -> object:
    match exp:
        case Overloaded(op=op) | t.PrimOp(op=op):
            return op
        case t.PrimFun(fun=fun):
            return fun
        case t.Convert(to=to):
            return to
        case t.Project(field=field):
            return field
    return None


def outer_size(type_: Type) -> Size | None:
    """Return the outermost size of an array type."""
    type_ = resolve(type_)
    return resolve_size(type_.dims[0]) if isinstance(type_, Array) else None
