"""Names, types and literals in the C family of languages."""

from __future__ import annotations

import math
import re
from functools import lru_cache

import numpy as np

from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp.nodes import Formal
from compiler.codegen.kernels.nodes import OWN
from compiler.ir.nodes import Mem

C_TYPE: dict[Prim, str] = {
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "f16": "_Float16",
    "f32": "float",
    "f64": "double",
    "bool": "bool",
}

_TAGGED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*_[0-9]+")
_SUFFIX: dict[Prim, str] = {"u32": "u", "u64": "ull", "i64": ""}


@lru_cache(maxsize=8192)
def c_name(name: Name) -> str:
    """Return a C identifier; a tagged name cannot clash with keywords and runtime functions."""
    if name[0] == OWN:
        return "".join(map(_legal, name[1:]))
    if _TAGGED.fullmatch(name):
        return name
    plain = "".join(map(_legal, name))
    return plain if _TAGGED.fullmatch(plain) else f"{plain}_0"


def typed(formal: Formal, pointer: str = "") -> str:
    """Return the declaration of a parameter or result, or (`*`) of a pointer to it."""
    star = "*" if isinstance(formal.type, Mem) else ""
    return f"{C_TYPE[formal.type.prim]} {star}{pointer}{c_name(formal.name)}"


def _legal(char: str) -> str:
    if char.isascii() and (char.isalnum() or char == "_"):
        return char
    return "p" if char == "'" else f"u{ord(char):x}"


def c_literal(value: int | float | bool, prim: Prim) -> str:
    """Return a literal of exact value and type."""
    if prim == "bool":
        return "true" if value else "false"
    if prim[0] == "f":
        return _float_literal(float(value), prim)
    number = int(value)
    if prim == "i64" and not -(2**31) < number < 2**31:
        return f"(-{2**63 - 1}ll - 1)" if number == -(2**63) else _signed(f"{number}ll")
    if prim == "i32" and number == -(2**31):
        return f"(-{2**31 - 1} - 1)"
    return _signed(f"{number}{_SUFFIX.get(prim, '')}")


def _signed(text: str) -> str:
    return f"({text})" if text[0] == "-" else text


def _float_literal(value: float, prim: Prim) -> str:
    zero = "0.0" if prim == "f64" else "0.0f"
    if math.isnan(value):
        return f"({zero} / {zero})"
    if math.isinf(value):
        text = f"(1{zero[1:]} / {zero})"
        return f"(-{text})" if value < 0 else text
    if prim == "f64":
        return _signed(repr(value))
    return _signed(f"{_single(repr(value)) if prim == 'f32' else _checked(repr(value), value)}f")


@lru_cache(maxsize=8192)
def _single(exact: str) -> str:
    """Return the shortest literal that equals `exact` as an f32, if that is its value.

    Takes text, which tells -0.0 from 0.0 in the cache.
    """
    return _checked(repr(float(str(np.float32(exact)))), float(exact))


def _checked(short: str, value: float) -> str:
    return short if float(np.float32(short)) == value else repr(value)
