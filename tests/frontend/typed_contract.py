"""What every typed program promises: no unknowns, unique names, sizes known wherever mentioned."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from compiler.base.names import Name
from compiler.frontend import typed as t
from compiler.frontend import types as ty

KNOWN = (
    ty.PrimT, ty.TypeVar, ty.Array, ty.Record, ty.Sum, ty.Arrow,
    ty.SizeConst, ty.SizeVar, ty.SizeOp, ty.SizeExp,
)  # fmt: skip


def check_contract(prog: t.TypedProg) -> None:
    """Fail if a promise of `typed.py` is broken anywhere in `prog`."""
    bound: list[Name] = []
    for d in prog.defs:
        _walk(d, bound)
    assert len(bound) == len(set(bound)), "a name is bound twice"
    mentioned: set[Name] = set()
    _size_names(prog, mentioned)
    assert mentioned <= set(bound), f"sizes that nothing binds: {mentioned - set(bound)}"


def _walk(value: object, bound: list[Name]) -> None:
    """Check every node's class, and collect the names that are bound."""
    if isinstance(value, (ty.Type, ty.Size)):
        assert isinstance(value, KNOWN), f"an unknown is left: {value}"
    if isinstance(value, (t.Exp, t.Pat)):
        assert type(value).__module__ == "compiler.frontend.typed", f"not a typed node: {value}"
    if isinstance(value, ty.Array):
        assert not isinstance(value.elem, ty.Array), "nested arrays are one array"
    bound.extend(_binds(value))
    for part in _parts(value):
        _walk(part, bound)


def _binds(value: object) -> tuple[Name, ...]:
    match value:
        case t.PVar(name=name) | t.For(name=name):
            return (name,)
        case t.Def():
            return (value.name, *value.type_params, *value.size_params, *value.ext)
        case t.Let(sizes=sizes):
            return sizes
        case t.Loop(sizes=sizes, ext=ext):
            return (*sizes, *ext)
        case t.Apply(ext=ext) | t.If(ext=ext) | t.Match(ext=ext):
            return ext
        case t.Index(ext=ext) | t.Range(ext=ext):
            return ext
    return ()


def _parts(value: object) -> list[object]:
    if isinstance(value, tuple):
        return list(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, f.name) for f in fields(value)]
    return []


def _size_names(value: object, found: set[Name]) -> None:
    """The names that sizes mention; those that a function type binds are its own."""
    if isinstance(value, ty.SizeVar):
        found.add(value.name)
    if isinstance(value, ty.Arrow):
        inner: set[Name] = set()
        _size_names(value.result, inner)
        found |= inner - {value.name, *value.ext}
        _size_names(value.param, found)
        return
    for part in _parts(value):
        _size_names(part, found)
