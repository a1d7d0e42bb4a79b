"""Random problems about LMADs whose places and sizes are quotients and remainders."""

from __future__ import annotations

import random
from typing import Any

VALUES = range(-7, 9)
"""Values of the names: of both signs, so that quotients are as well."""
_DIVISORS = ("2", "3", "4", "(-2)", "(0 - 3)", "m", "m", "(2*m)", "(m + 1)")
_POSITIVE = ("m >= 1", "m > 0", "m >= 2")
_ANY = (*_POSITIVE, "m <= -1", "m < -1", "m >= 0", "m <= 0")


def problem(rng: random.Random) -> dict[str, Any]:
    """Two LMADs over i, j of any sign and a divisor m, some apart and some not."""
    divisors = [rng.choice(_DIVISORS) for _ in range(2)]
    signed = _POSITIVE if any("+" in by for by in divisors) else _ANY
    known = [rng.choice(signed)] if any("m" in by for by in divisors) else []
    known += rng.sample(["i >= 0", "i < 6", "j > i", "j >= i + 2", "i >= -5", "j < 8"], 3)
    first, second = _place(rng, "i", divisors[0]), _place(rng, "j", divisors[rng.random() < 0.3])
    if rng.random() < 0.4:
        second = f"{second} + {rng.choice([1, 2, 5, 20, -20])}"
    sides = [f"{place} + {{{_dims(rng)}}}" for place in (first, second)]
    return {"assumptions": {"other": known}, "a": sides[0], "b": sides[1]}


def _place(rng: random.Random, name: str, by: str) -> str:
    inner = rng.choice([name, f"({name} - {rng.randint(1, 6)})", f"({name} + 1)", f"(2*{name})"])
    whole, rest = f"({inner}//{by})", f"({inner}%{by})"
    return rng.choice(
        [
            whole,
            f"2*{whole}",
            rest,
            f"{whole}*{rng.choice([3, 8])} + {rest}",
            f"({whole}//2)",
            f"4*{name} + {rest}",
            f"{rng.randint(-3, 9)}",
            name,
        ]
    )


def _dims(rng: random.Random) -> str:
    size = rng.choice(["1", "2", "3", "m", "j - i", "i//2"])
    return rng.choice(["", f"({size} : {rng.choice(['1', '2', '-1', '4'])})"])
