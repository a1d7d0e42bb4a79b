"""What printer and parser of the core language share: keywords, precedences, names, literals.

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
"""Of binary operators; `min` and `max` are written as functions."""
UNARY = 11
ATOM = 12

CALLS = frozenset((*FUNS, "min", "max", "abs", "sgn", "select"))
"""What is written `name(arguments)` inside scalar expressions."""

_WORDS = "entry fun let in mem true false device shared private grid block thread"
"""What no format line has."""
_NO_KEYWORDS = frozenset(("unroll",))
"""Words of format lines that stand where no name may, and so may be names elsewhere."""
KEYWORDS = frozenset((*PRIMS, *CALLS, *_WORDS.split(), *CORE.words())) - _NO_KEYWORDS

_PLAIN_NAME = re.compile(r"%?[^\W\d][\w']*")
"""The kernel IR has names that begin with `%`."""


@lru_cache(maxsize=4096)
def name_text(name: Name) -> str:
    """A name as it is, or in backquotes if it does not look like one."""
    if name.isidentifier() and name not in KEYWORDS:
        return name
    return name if _PLAIN_NAME.fullmatch(name) and name not in KEYWORDS else f"`{name}`"


def string_text(text: str) -> str:
    """A message in double quotes, with JSON's escapes."""
    return json.dumps(text, ensure_ascii=False)


def literal_text(value: int | float | bool, prim: Prim, suffix: bool = True) -> str:
    """A literal with its type as suffix; negative ones begin with `-`."""
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
    """The shortest decimal that reads back as the same finite value of that type."""
    exact = repr(value)
    return exact if prim == "f64" else _short(exact, prim)


@lru_cache(maxsize=4096)
def _short(exact: str, prim: Prim) -> str:
    """The same for narrow types, of a value by its text, which tells -0.0 from 0.0."""
    value = float(exact)
    if prim == "f32":
        short = np.float32(value)
        return str(short) if float(short) == value else exact
    half = np.float16(value)
    return str(half) if float(half) == value else exact
