"""The built-in modules `i8` .. `f64` and `bool`, and their members.

Members that are operators, functions of `prim.FUNS`, conversions or constants are built in; the
others (`sum`, `get_bit`, ..) are Futhark definitions in `prelude/`, one instance per type.
"""

from __future__ import annotations

import math

from compiler.base.dataclass import dataclass
from compiler.base.prim import FLOATS, FUNS, INTS, PRIMS, FunKind, Prim, int_range
from compiler.frontend.check.types.metas import PRIM_T
from compiler.frontend.types import Arrow, Type

_HAVING: dict[FunKind, tuple[Prim, ...]] = {"float": FLOATS, "int": INTS, "lmad": ()}
"""The types whose modules have the functions of a kind; by default all."""


@dataclass(frozen=True, slots=True)
class OpMember:
    """An operator of `prim.BIN_OPS` or `UN_OPS` on the module's type."""

    op: str
    arity: int
    type: Type


@dataclass(frozen=True, slots=True)
class FunMember:
    """A function of `prim.FUNS`."""

    fun: str
    arity: int
    type: Type


@dataclass(frozen=True, slots=True)
class ConvertMember:
    """A conversion; `type` is its function type."""

    to: Prim
    type: Type
    arity: int = 1


@dataclass(frozen=True, slots=True)
class ConstMember:
    """A constant."""

    value: int | float
    type: Type
    arity: int = 0


Member = OpMember | FunMember | ConvertMember | ConstMember

BITS_OF: dict[str, Prim] = {"f16": "u16", "f32": "u32", "f64": "u64"}
_EPSILON = {"f16": 2.0**-10, "f32": 2.0**-23, "f64": 2.0**-52}
_NUMBER_OPS = "+ - * / % ** min max".split()
_INT_OPS = "// %% & | ^ << >>".split()
_COMPARE = "== != < <= > >=".split()


def _function(arg: Type, arity: int, result: Type) -> Type:
    for _ in range(arity):
        result = Arrow(arg, result)
    return result


def _operators(prim: Prim) -> dict[str, Member]:
    t, boolean = PRIM_T[prim], PRIM_T["bool"]
    table: dict[str, Member] = {}
    ops = _NUMBER_OPS + (_INT_OPS if prim in INTS else [])
    for op in ops:
        table[op] = OpMember(op, 2, _function(t, 2, t))
    for op in _COMPARE:
        table[op] = OpMember(op, 2, _function(t, 2, boolean))
    for op in ["neg", "abs", "sgn", *(["not"] if prim in INTS else [])]:
        table[op] = OpMember(op, 1, _function(t, 1, t))
    return table


def _functions(prim: Prim) -> dict[str, Member]:
    t = PRIM_T[prim]
    table: dict[str, Member] = {}
    for fun, (arity, kind, result) in FUNS.items():
        if prim not in _HAVING.get(kind, PRIMS):
            continue
        if fun in ("to_bits", "from_bits", "ldexp"):
            continue
        out = t if result == "same" else PRIM_T["bool" if result == "bool" else "i32"]
        table[fun] = FunMember(fun, arity, _function(t, arity, out))
    return table


def _float_members(prim: Prim) -> dict[str, Member]:
    t, bits = PRIM_T[prim], PRIM_T[BITS_OF[prim]]
    constants = {
        "inf": math.inf,
        "nan": math.nan,
        "highest": math.inf,
        "lowest": -math.inf,
        "pi": math.pi,
        "e": math.e,
        "epsilon": _EPSILON[prim],
    }
    table: dict[str, Member] = {name: ConstMember(value, t) for name, value in constants.items()}
    table["to_bits"] = FunMember("to_bits", 1, Arrow(t, bits))
    table["from_bits"] = FunMember("from_bits", 1, Arrow(bits, t))
    table["ldexp"] = FunMember("ldexp", 2, Arrow(t, Arrow(PRIM_T["i32"], t)))
    table["to_f64"] = ConvertMember("f64", Arrow(t, PRIM_T["f64"]))
    return table


def members(prim: Prim) -> dict[str, Member]:
    """Return all built-in members of the module of `prim`, by name."""
    t = PRIM_T[prim]
    table: dict[str, Member] = {p: ConvertMember(prim, Arrow(PRIM_T[p], t)) for p in PRIMS}
    if prim == "bool":
        return table
    table |= _operators(prim) | _functions(prim)
    width = {"8": 8, "16": 16, "32": 32, "64": 64}[prim[1:]]
    table["num_bits"] = ConstMember(width, PRIM_T["i32"])
    table["to_i64"] = ConvertMember("i64", Arrow(t, PRIM_T["i64"]))
    if prim in FLOATS:
        table |= _float_members(prim)
    else:
        low, high = int_range(prim)
        table["lowest"], table["highest"] = ConstMember(low, t), ConstMember(high, t)
    return table


_TABLES: dict[str, dict[str, Member]] = {}


def member(prim: str, name: str) -> Member | None:
    """Return one built-in member, or None."""
    return _table(prim).get(name)


def member_names(prim: str) -> list[str]:
    """Return the names of all built-in members."""
    return list(_table(prim))


def _table(prim: str) -> dict[str, Member]:
    table = _TABLES.get(prim)
    if table is None:
        table = _TABLES[prim] = members(next(p for p in PRIMS if p == prim))
    return table
