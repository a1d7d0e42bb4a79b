"""Signature of a compiled entry point as plain data, and inference of sizes from shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.algebra.poly import Poly
from compiler.base.errors import RuntimeError_, UsageError
from compiler.codegen.imp.nodes import External, Formal, ImpFun, ImpProg
from compiler.ir.nodes import Array, Mem
from compiler.ir.sizes import signed
from compiler.protocol.kinds import Json

Plain = Json
"""JSON data."""
Size = list[tuple[int, list[str]]]
"""The terms of a polynomial, each a coefficient and its names, with repetition; lists in JSON."""


def signatures(prog: ImpProg) -> list[Plain]:
    """Return the signatures of all entry points."""
    return [signature(fun) for fun in prog.funs if fun.entry]


def signature(fun: ImpFun) -> Plain:
    """Return the entry point's slots and external values.

    `takes` and `gives`: name, prim, shape, block; sizes are lists of [coefficient, [names..]].
    `params` and `results`: the slots in order, as name and whether it is a block.
    """
    return {
        "name": fun.name,
        "symbol": symbol(fun.name),
        "implicit": [p.name for p in fun.params[: fun.implicit]],
        "params": [_slot(p) for p in fun.params],
        "results": [_slot(p) for p in fun.results],
        "takes": [_external(e) for e in fun.inputs],
        "gives": [_external(e) for e in fun.outputs],
    }


def symbol(name: str) -> str:
    """Return the C function of an entry point, injective in the name (`f'` and `fp` differ)."""
    if name.isascii() and name.isidentifier():
        return f"entry_{name}"
    return "entry" + "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in name)


def _slot(formal: Formal) -> Plain:
    return {
        "name": formal.name,
        "prim": formal.type.prim,
        "block": isinstance(formal.type, Mem),
    }


def _external(e: External) -> Plain:
    if isinstance(e.type, Array):
        shape = [_poly_data(size) for size in e.type.shape]
        return {
            "name": e.name,
            "prim": e.type.prim,
            "shape": shape,
            "block": e.block,
            "unique": e.unique,
        }
    return {"name": e.name, "prim": e.type.prim, "shape": None}


def _poly_data(poly: Poly) -> Size:
    return [
        (coeff, [name for name, power in mono for _ in range(power)])
        for mono, coeff in poly.terms.items()
    ]


def poly_value(poly: Size, env: Mapping[str, int]) -> int:
    """Evaluate a polynomial in the form of `signature`, in 64-bit arithmetic."""
    total = 0
    for coeff, names in poly:
        for name in names:
            coeff *= env[name]
        total += coeff
    return signed(total)


def shape_of(polys: Sequence[Size], env: Mapping[str, int]) -> list[int]:
    """Return the sizes of a result. Raises RuntimeError_ for a negative one."""
    shape = [poly_value(poly, env) for poly in polys]
    if min(shape) < 0:
        raise RuntimeError_(f"An array cannot have the negative size {min(shape)}.")
    return shape


def poly_text(poly: Size) -> str:
    """Format a size for messages."""
    terms = ["*".join([*([] if c == 1 and ns else [str(c)]), *ns]) for c, ns in poly]
    return " + ".join(terms) or "0"


def choose_entry(about: Plain, entry: str) -> Plain:
    """Return the signature of an entry point by name.

    Errors: `UsageError` for an unknown name.
    """
    known = [e["name"] for e in about["entries"]]
    for found in about["entries"]:
        if found["name"] == entry:
            return dict(found)
    names = ", ".join(f"`{k}`" for k in known) or "none"
    raise UsageError(f"There is no entry point `{entry}`.", hint=f"The entry points are: {names}.")


def solve_sizes(entry: Plain, shapes: Sequence[Sequence[int] | None]) -> dict[str, int]:
    """Infer the implicit sizes from the shapes of given arrays (None for scalars).

    Raises RuntimeError_ where two arrays disagree on a size.
    """
    implicit = set(entry["implicit"])
    env: dict[str, int] = {}
    for taken, shape in zip(entry["takes"], shapes, strict=True):
        if shape is None or taken["shape"] is None:
            continue
        for poly, size in zip(taken["shape"], shape, strict=True):
            if len(poly) == 1 and poly[0][0] == 1 and len(poly[0][1]) == 1:
                (name,) = poly[0][1]
                if name in implicit:
                    env.setdefault(name, int(size))
    return env


def check_shapes(
    entry: Plain, shapes: Sequence[Sequence[int] | None], env: Mapping[str, int]
) -> None:
    """Check that every array has the sizes of its type; `env` has all integer parameters.

    Errors: `RuntimeError_` with the input's number.
    """
    for k, (taken, shape) in enumerate(zip(entry["takes"], shapes, strict=True)):
        if shape is None or taken["shape"] is None:
            continue
        for axis, (poly, size) in enumerate(zip(taken["shape"], shape, strict=True)):
            if any(name not in env for _, names in poly for name in names):
                continue
            expected = poly_value(poly, env)
            if expected != size:
                raise RuntimeError_(
                    f"Input {k + 1} has size {size} in dimension {axis + 1},"
                    f" but its type says {expected} ({poly_text(poly)})",
                    hint=(
                        "Arrays that share a size in the entry point's type must have the "
                        "same size."
                    ),
                )
