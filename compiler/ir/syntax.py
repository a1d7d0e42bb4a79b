"""Keywords, precedences, names and literals shared by the core language's printer and parser.

Precedence, tightest first: unary `-` and `!`; `**`; `*` `/` `%` `//` `%%`; `+` `-`; `<<` `>>`; `&`;
`^`; `|`; comparisons; `&&`; `||`. All binary operators associate to the left.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache

import numpy as np

from compiler.base.names import Name
from compiler.base.prim import FUNS, PRIMS, Prim
from compiler.ir.nodes import CORE

PRECEDENCE: dict[str, int] = {
    op: level
    for level, ops in enumerate(
        ("||", "&&", "== != < <= > >=", "|", "^", "&", "<< >>", "+ -", "* / % // %%", "**"), start=1
    )
    for op in ops.split()
}
"""Precedence of binary operators; `min` and `max` are written as functions."""
UNARY = 11
ATOM = 12

CALLS = frozenset((*FUNS, "min", "max", "abs", "sgn", "select"))
"""Operations written `name(arguments)` inside scalar expressions."""

_WORDS = "entry fun let in mem true false device shared private grid block thread"
"""Keywords that occur in no format line."""
_NO_KEYWORDS = frozenset(("unroll",))
"""Words of format lines at places where no name may stand, and so usable as names."""
KEYWORDS = frozenset((*PRIMS, *CALLS, *_WORDS.split(), *CORE.words())) - _NO_KEYWORDS

_PLAIN_NAME = re.compile(r"%?[^\W\d][\w']*")
"""Names of the kernel IR may begin with `%`."""


@lru_cache(maxsize=4096)
def name_text(name: Name) -> str:
    """Format a name, in backquotes if it does not look like one."""
    if name.isidentifier() and name not in KEYWORDS:
        return name
    return name if _PLAIN_NAME.fullmatch(name) and name not in KEYWORDS else f"`{name}`"


def string_text(text: str) -> str:
    """Format a message in double quotes, with JSON's escapes."""
    return json.dumps(text, ensure_ascii=False)


def literal_text(value: int | float | bool, prim: Prim, suffix: bool = True) -> str:
    """Format a literal with its type as suffix; negative ones begin with `-`."""
    if prim == "bool":
        return "true" if value else "false"
    end = prim if suffix else ""
    if prim[0] != "f":
        return f"{value}{end}"
    if math.isnan(value):
        return f"{prim}.nan"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}{prim}.inf"
    return f"{float_text(float(value), prim)}{end}"


def float_text(value: float, prim: Prim) -> str:
    """Return the shortest decimal that reads back as the same finite value of that type."""
    exact = repr(value)
    return exact if prim == "f64" else _short(exact, prim)


@lru_cache(maxsize=4096)
def _short(exact: str, prim: Prim) -> str:
    """Return the shortest decimal of a narrow type; the text `exact` tells -0.0 from 0.0."""
    value = float(exact)
    if prim == "f32":
        short = np.float32(value)
        return str(short) if float(short) == value else exact
    half = np.float16(value)
    return str(half) if float(half) == value else exact
