"""States of links that were made when polynomials and LMADs were kept as text: they get data.

This is the one place that reads such text. What is none of a polynomial stays the text that it is.
Options that had a name of their own are among those that are asked for now.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from compiler.protocol.kinds import Json
from compiler.protocol.polynomials import Cells, Factor, Polynomial, as_called, names_in

_NOT_NEGATIVE = " >= 0"
_WHERE = " @ "
"""Stands in a stage's text where that says where arrays lie."""


def upgraded(state: Json) -> Json:
    """The state as one of today has it; the same object if nothing has to be changed."""
    if "fma" in (state.get("options") or {}):
        options = dict(state["options"])
        asked = ["cuda/fma"] if options.pop("fma") else []
        state = {**state, "options": {**options, **({"enable": asked} if asked else {})}}
    attempts, lifetimes = state.get("attempts"), state.get("lifetimes")
    if all("memory" in info for info in state.get("manifest", ())):
        return state
    stages = state["stages"]
    manifest = [
        {**info, "memory": _WHERE in stages.get(info["id"], {"text": ""})["text"]}
        for info in state["manifest"]
    ]
    found = {**state, "manifest": manifest}
    if attempts:
        found["attempts"] = [_attempt(one) for one in attempts]
    if lifetimes:
        found["lifetimes"] = [
            {**kept, "functions": [_function(fun) for fun in kept["functions"]]}
            for kept in lifetimes
        ]
    return found


def _attempt(old: Json) -> Json:
    new = {
        **old,
        "obligations": [_obligation(one) for one in old["obligations"]],
        "copied": _amounts(old["copied"]),
        "allocated": _amounts(old["allocated"]),
        **{key: _place(old.get(key) or {}) for key in ("place", "projected")},
        "moved": [_place(one) for one in old.get("moved", ())],
        "lifted": old.get("lifted", []),
    }
    arrays = [old["source"], old["destination"], *new["lifted"]]
    arrays += [one["array"] for one in new["moved"]]
    names = _called([*arrays, *names_in(new)])
    for one in new["obligations"]:
        spell = as_called(names_in(one), names)
        _say_plainly(one["steps"], {name: spell(name) for name in names})
    return {**new, "names": names}


def _obligation(old: Json) -> Json:
    missing = old.get("missing")
    return {
        **old,
        "write": _cells(old["write"]),
        "use": _cells(old["use"]),
        "facts": [_polynomial(fact) for fact in old["facts"]],
        "missing": _polynomial(missing) if missing else None,
        "enough": [_polynomial(claim) for claim in old.get("enough", ())],
        "steps": [_step(step) for step in old["steps"]],
    }


def _step(old: Json) -> Json:
    return {
        **old,
        "says": [old["says"]],
        "offset": _polynomial(old["offset"]),
        "dims": [[_polynomial(part) for part in dim] for dim in old["dims"]],
        "needs": [_need(need) for need in old["needs"]],
        "parts": [_step(part) for part in old["parts"]],
    }


def _need(old: Json) -> Json:
    products = [
        {**one, "factors": [_polynomial(factor) for factor in one["factors"]]} for one in old["sum"]
    ]
    return {"claim": _polynomial(old["claim"]), "scale": old["scale"], "sum": products}


def _say_plainly(steps: list[Json], names: dict[str, str]) -> None:
    """Names in the sentences of steps, the longest first: one may be a part of another."""
    for step in steps:
        for name in sorted(names, key=len, reverse=True):
            step["says"] = [text.replace(name, names[name]) for text in step["says"]]
        _say_plainly(step["parts"], names)


def _function(old: Json) -> Json:
    arrays = [
        {**one, "shape": [_polynomial(size) for size in one["shape"]], "lmad": _cells(one["lmad"])}
        for one in old["arrays"]
    ]
    blocks = [{**one, "bytes": _polynomial(one["bytes"])} for one in old["blocks"]]
    names = _called([*old.get("symbols", ()), *names_in([arrays, blocks])])
    return {**old, "arrays": arrays, "blocks": blocks, "names": names}


def _called(names: list[str]) -> dict[str, str]:
    """Names without their tags."""
    split = {name: name.rpartition("_") for name in names}
    return {
        name: base if base and tag.isdigit() else name for name, (base, _, tag) in split.items()
    }


def _amounts(text: str) -> list[Polynomial]:
    """`4*n B or 8*m B`."""
    parts = text.split(" or ") if text else []
    return [_polynomial(part.removesuffix("B").strip()) for part in parts]


def _place(old: Json) -> Json:
    return {**old, "lmad": _cells(old["lmad"])} if "lmad" in old else old


def _cells(text: str) -> Cells:
    """`offset + {(size : stride), ..}`."""
    offset, _, dims = text.partition("{")
    match _parsed(f"[{dims.strip().removesuffix('}').replace(':', ',')}]"):
        case ast.List(elts=elements):
            pairs = [one.elts for one in elements if isinstance(one, ast.Tuple)]
            return {
                "offset": _polynomial(offset.strip().removesuffix("+").strip() or "0"),
                "dims": [[list(_terms(part)) for part in pair] for pair in pairs],
            }
    return {"offset": _word(text), "dims": []}


def _polynomial(text: str) -> Polynomial:
    """A polynomial, or that which is not negative."""
    node = _parsed(text.removesuffix(_NOT_NEGATIVE))
    return _word(text) if node is None else list(_terms(node))


def _word(text: str) -> Polynomial:
    return [[1, {"op": text, "of": []}]]


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _terms(node: ast.expr, sign: int = 1) -> Iterator[list[int | str | Any]]:
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if isinstance(op, ast.Add) else -sign)
        case ast.UnaryOp(ast.USub(), inner):
            yield from _terms(inner, -sign)
        case _:
            factors = list(_factors(node))
            number = sign
            for factor in factors:
                number *= factor if isinstance(factor, int) else 1
            if number:
                yield [number, *(factor for factor in factors if not isinstance(factor, int))]


def _factors(node: ast.expr) -> Iterator[int | Factor]:
    match node:
        case ast.Constant(value=int(value)):
            yield value
        case ast.Name(id=name):
            yield name
        case ast.UnaryOp(ast.USub(), inner):
            yield -1
            yield from _factors(inner)
        case ast.BinOp(left, ast.Mult(), right):
            yield from _factors(left)
            yield from _factors(right)
        case ast.BinOp(base, ast.Pow(), ast.Constant(value=int(power))) if 0 <= power < 100:
            yield from list(_factors(base)) * power
        case ast.BinOp(left, ast.Div() | ast.FloorDiv(), right):
            yield {"op": "/", "of": [list(_terms(left)), list(_terms(right))]}
        case ast.Call(func=ast.Name(id=name), args=args):
            yield {"op": name, "of": [list(_terms(arg)) for arg in args]}
        case _:
            yield {"op": ast.unparse(node), "of": []}
