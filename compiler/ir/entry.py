"""Bind external values to the parameters of an entry point, and infer sizes from their shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.algebra.limits import LARGEST_INPUT
from compiler.algebra.poly import Poly
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompilerBug, InputError, UsageError
from compiler.base.names import Name, base_of
from compiler.ir.nodes import Array, Function, Param, Prog, Scalar
from compiler.ir.values import Value, type_text


def find(prog: Prog, entry: str) -> Function:
    """Return the entry point of that name. Raises UsageError that lists the known ones."""
    for fun in prog.funs:
        if fun.entry and fun.name == entry:
            return fun
    known = ", ".join(f"`{fun.name}`" for fun in prog.funs if fun.entry)
    raise UsageError(f"There is no entry point `{entry}`.", hint=f"There are {known}.")


def external(fun: Function) -> list[Param]:
    """Return the parameters given by an external caller: no implicit sizes, no blocks."""
    return [p for p in fun.params[fun.implicit :] if isinstance(p.type, Scalar | Array)]


def bind(fun: Function, args: Sequence[Value]) -> dict[Name, Value]:
    """Return the value of each parameter that is not a block, implicit sizes included.

    Raises InputError for a wrong number, type, rank or shape.
    """
    env = check_types(fun, args)
    sizes = _sizes(fun, external(fun), env)
    for param in fun.params[: fun.implicit]:
        if param.name not in sizes:
            raise InputError(
                f"The size `{base_of(param.name)}` does not follow from the arguments' shapes."
            )
        env[param.name] = np.int64(sizes[param.name])
    return env


def check_types(fun: Function, args: Sequence[Value]) -> dict[Name, Value]:
    """Return the values of external parameters.

    Raises InputError for a wrong number, type or rank.
    """
    params = external(fun)
    if len(args) != len(params):
        listed = ", ".join(f"{base_of(p.name)}: {_wanted(p)}" for p in params)
        raise InputError(
            f"`{fun.name}` takes {_number(len(params), 'value')} and was given {len(args)}.",
            hint=f"The parameters are {listed}." if params else "",
        )
    for param, arg in zip(params, args, strict=True):
        _check_type(param, arg)
    return {param.name: arg for param, arg in zip(params, args, strict=True)}


def completed(fun: Function, found: Sequence[Value | None]) -> list[Value]:
    """Replace missing arguments by zeros, of the sizes that the others imply (else empty).

    Raises InputError as `bind` does.
    """
    params = external(fun)
    there = {p: one for p, one in zip(params, found, strict=False) if one is not None}
    if len(found) == len(params) > len(there):
        for param, one in there.items():
            _check_type(param, one)
        sizes = _sizes(fun, list(there), {p.name: one for p, one in there.items()})
        there |= {p: _zeros(p, sizes) for p in params if p not in there}
        return [there[p] for p in params]
    return [one for one in found if one is not None]


def _zeros(param: Param, known: dict[Name, int]) -> Value:
    """Return zeros for an unread parameter; unknown sizes are 0."""
    shape = param.type.shape if isinstance(param.type, Array) else ()
    sizes = {name: known.get(name, 0) for size in shape for name in size.names()}
    prim = param.type.prim if isinstance(param.type, Scalar | Array) else "bool"
    return np.zeros([max(0, size.evaluate(sizes)) for size in shape], DTYPE[prim])[()]


def visible_results(fun: Function) -> list[int]:
    """Return the positions of the results that an external caller sees.

    Leaves out blocks, and sizes that types of later results mention: those follow from shapes.
    """
    later: set[Name] = set()
    seen: list[int] = []
    for k in reversed(range(len(fun.results))):
        param = fun.results[k]
        if isinstance(param.type, Array):
            for size in param.type.shape:
                later |= size.names()
        if isinstance(param.type, Scalar | Array) and param.name not in later:
            seen.append(k)
    return seen[::-1]


def sizes_of(env: dict[Name, Value]) -> dict[Name, int]:
    """Return the i64 scalars among values, as ints."""
    return {k: int(v) for k, v in env.items() if not v.shape and v.dtype == np.int64}


def _sizes(fun: Function, params: Sequence[Param], env: dict[Name, Value]) -> dict[Name, int]:
    """Return the value of every size. Raises InputError if two arrays disagree."""
    known = sizes_of(env)
    source: dict[Name, str] = {name: f"`{base_of(name)}`" for name in known}
    pairs = [
        (param, k, size, extent)
        for param in params
        if isinstance(param.type, Array)
        for k, (size, extent) in enumerate(
            zip(param.type.shape, env[param.name].shape, strict=True)
        )
    ]
    for param, _, size, extent in pairs:
        name = size.as_name
        if name is not None and name not in known:
            known[name] = extent
            source[name] = f"`{base_of(param.name)}`"
    for param, _, size, extent in pairs:
        _solve(size, extent, known, source, base_of(param.name))
    for param, k, size, extent in pairs:
        if size.names() <= known.keys() and size.evaluate(known) != extent:
            raise InputError(_mismatch(param, k, size, extent, known, source))
    return known


def _solve(
    size: Poly, extent: int, known: dict[Name, int], source: dict[Name, str], owner: str
) -> None:
    """Solve a size that is linear in its one unknown, such as `n + 1` or `2*n`."""
    unknown = [name for name in size.names() if name not in known]
    if len(unknown) != 1:
        return
    (name,) = unknown
    values = {other: Poly.const(value) for other, value in known.items()}
    at_zero = size.subst({**values, name: Poly.const(0)}).constant
    at_one = size.subst({**values, name: Poly.const(1)}).constant
    at_two = size.subst({**values, name: Poly.const(2)}).constant
    if at_zero is None or at_one is None or at_two is None:
        return
    step = at_one - at_zero
    if step and at_two - at_one == step and (extent - at_zero) % step == 0:
        known[name] = (extent - at_zero) // step
        source[name] = f"`{owner}`"


def _mismatch(
    param: Param, k: int, size: Poly, extent: int, known: dict[Name, int], source: dict[Name, str]
) -> str:
    name = base_of(param.name)
    wanted = size.evaluate(known)
    names = sorted(size.names())
    because = "".join(f", since {source[n]} gives `{base_of(n)}` = {known[n]}" for n in names[:1])
    return f"`{name}` has size {extent} in dimension {k} and should have {wanted}{because}."


def _check_type(param: Param, arg: Value) -> None:
    kind = param.type
    if not isinstance(kind, Scalar | Array):
        raise CompilerBug(f"the parameter `{param.name}` is no value")
    rank = kind.rank if isinstance(kind, Array) else 0
    if arg.dtype != DTYPE[kind.prim] or arg.ndim != rank:
        raise InputError(
            f"`{base_of(param.name)}` should be {_wanted(param)} and was given {type_text(arg)}."
        )
    check_extent(f"`{base_of(param.name)}`", arg)


def check_extent(named: str, arg: Value) -> None:
    """Refuse an array larger than the compiler assumes any input to be.

    Raises InputError. See Note [Sizes of arrays] in `analysis/facts.py`.
    """
    if max(arg.size, *arg.shape, 0) > LARGEST_INPUT:
        raise InputError(f"{named} has more than {LARGEST_INPUT} rows or elements.")


def _wanted(param: Param) -> str:
    kind = param.type
    if isinstance(kind, Array):
        return "".join(f"[{_readable(size)}]" for size in kind.shape) + kind.prim
    return kind.prim


def _readable(size: Poly) -> str:
    """Format a size with the names of the source program."""
    return str(size.subst({name: Poly.var(base_of(name)) for name in size.names()}))


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
