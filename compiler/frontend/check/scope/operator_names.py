"""The built-in overloaded operators, by the operands that they take."""

from __future__ import annotations

ARITH = frozenset(("+", "-", "*", "/", "%", "**"))
INTEGRAL = frozenset(("//", "%%", "&", "|", "^", "<<", ">>"))
ORDER = frozenset(("<", "<=", ">", ">="))
EQUALITY = frozenset(("==", "!="))
LOGIC = frozenset(("&&", "||"))
ALL = ARITH | INTEGRAL | ORDER | EQUALITY | LOGIC


def is_operator(name: str) -> bool:
    """Test for a built-in overloaded operator."""
    return name in ALL
