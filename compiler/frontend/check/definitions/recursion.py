"""Definitions that call themselves.

A recursive call has the definition's type parameters, and sizes of its own where the types of the
parameters and of the result are written. Function arguments have to be the parameters themselves,
so that no specialisation of the definition needs another one of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler import codes
from compiler.base.errors import TypeError_
from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.check.scope.scope import Recursive
from compiler.frontend.check.types.unify import Mismatch, require_data
from compiler.frontend.check.types.walks import sizes_of
from compiler.frontend.parts import parts, pattern_variables
from compiler.frontend.types import Type


def result_is_written(own: Recursive, result: Type | None, span: Span) -> None:
    """Demand a written result type where recursive calls would need its sizes too early.

    `result`: the type that all calls inside of the definition share; None if it is written.
    Errors: the type is not written, and has a size.
    """
    if result is not None and own.name and sizes_of(result):
        raise TypeError_(
            codes.types.RECURSION,
            f"`{own.source_name}` calls itself and its result has a size, so you must "
            "write the type of the result.",
            span,
            f"Write it after the parameters: `def {own.source_name} .. : []i32 = ..`.",
        )


def check_calls(d: t.Def, lifted: frozenset[str]) -> None:
    """Demand that recursive calls pass the functional parameters on.

    `lifted`: type parameters that may stand for functions. Errors: `TypeError_`.
    """
    if _functional(d.ret, lifted):
        raise TypeError_(
            codes.types.RECURSION,
            f"`{d.source_name}` calls itself, so its result cannot be or contain a function.",
            d.span,
            "Add the argument of the returned function as another parameter.",
        )
    functional = [_functional(p.type, lifted) for p in d.params]
    if any(functional):
        for use, args in _uses(d.body, d.name):
            if len(args) < len(d.params):
                raise TypeError_(
                    codes.types.RECURSION,
                    f"`{d.source_name}` calls itself and has a functional parameter, so "
                    f"inside it each use must be a call with all {len(d.params)} "
                    "arguments.",
                    use,
                )
            for arg, param in zip(args, d.params, strict=False):
                names = {v.name for v in pattern_variables(param)}
                same = isinstance(arg, t.Var) and arg.name in names
                if _functional(param.type, lifted) and not same:
                    raise TypeError_(
                        codes.types.RECURSION,
                        f"`{d.source_name}` calls itself, so it must pass its "
                        "functional parameter on unchanged.",
                        arg.span,
                        "Pass the parameter itself, and pass what differs between calls as data.",
                    )


def _functional(type_: Type, lifted: frozenset[str]) -> bool:
    try:
        require_data(type_, functional=lifted)
    except Mismatch:
        return True
    return False


def _uses(e: t.Exp, name: str) -> Iterator[tuple[Span, tuple[t.Exp, ...]]]:
    """Yield the uses of a function and the arguments of each."""
    match e:
        case t.Apply(fn=t.Var(name=called), args=args) if called == name:
            yield e.span, args
            inside: tuple[t.Exp, ...] = args
        case t.Var(name=used) if used == name:
            yield e.span, ()
            return
        case _:
            inside = parts(e)
    for part in inside:
        yield from _uses(part, name)
