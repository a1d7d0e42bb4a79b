"""Random maps whose points read cells around them: the programs that have windows.

One, two or three dimensions of points; indices are the points' own plus constants, kept inside by
`min` and `max`, begun again by `%`, or asked about before, at 64 or 32 bits. Arrays are inputs,
what another map makes, or two buffers of a loop in turn. Numbers are small and whole.
"""

from __future__ import annotations

import random

import numpy as np

from compiler.ir.values import Value
from testing.generators.programs import Generated

KINDS = {"i32": "i4", "i64": "i8", "u8": "u1", "i16": "i2", "f32": "f4", "f64": "f8", "f16": "f2"}
LINES = (0, 1, 2, 1023, 1024, 1025, 1100, 2049, 3000)
ROWS = (0, 1, 7, 8, 15, 16, 17, 31, 33, 40)
COLUMNS = (1, 2, 31, 32, 33, 64, 65, 100, 127, 128, 130)
PLANES = (1, 2, 3)
INDICES = "lij"


def program(seed: int) -> Generated:
    """The program and inputs of that number."""
    rng = random.Random(f"stencils {seed}")
    kind, rank = rng.choice(list(KINDS)), rng.choice((1, 1, 2, 2, 2, 2, 3))
    points = INDICES[-rank:]
    sides = {"l": PLANES, "i": ROWS, "j": LINES if rank == 1 else COLUMNS}
    shape = [rng.choice(sides[one]) for one in points]
    sizes = {one: f"n{one}" for one in points}
    body = _value(rng, points, sizes, rng.randrange(2, 7))
    kinds = "".join(f"[{sizes[one]}]" for one in points)
    tabulated = {1: "tabulate", 2: "tabulate_2d", 3: "tabulate_3d"}[rank]
    given = " ".join(sizes[one] for one in points)
    step = f"{tabulated} {given} (\\{' '.join(points)} -> {body})"
    made = rng.choice(("once", "twice", "turns"))
    whole = {
        "once": step,
        "twice": f"let xs = {step} in {step}",
        "turns": f"loop xs for _r < {rng.randrange(4)} do {step}",
    }[made]
    names = " ".join(f"[{sizes[one]}]" for one in points)
    source = (
        f"entry main {names} (xs: {kinds}{kind}) (ys: {kinds}{kind}): {kinds}{kind} =\n  {whole}"
    )
    numbers = np.random.default_rng(seed)
    inputs: list[Value] = [numbers.integers(0, 4, shape).astype(KINDS[kind]) for _ in range(2)]
    return Generated(seed, source, inputs)


def _value(rng: random.Random, points: str, sizes: dict[str, str], reads: int) -> str:
    """Return the value of a point: a sum, of which a part may be under a condition."""
    parts = [_read(rng, points, sizes) for _ in range(reads)]
    here = f"xs[{', '.join(points)}]"
    if rng.random() < 0.8:
        parts.append(here)
    if rng.random() < 0.4:
        one = rng.choice(points)
        aside = ", ".join(f"{p} - 1" if p == one else p for p in points)
        parts.append(f"(if {one} > 0 then xs[{aside}] else {rng.choice((here, parts[0]))})")
    if rng.random() < 0.2:
        parts.append(f"ys[{', '.join(points)}]")
    return " + ".join(parts)


def _read(rng: random.Random, points: str, sizes: dict[str, str]) -> str:
    """A cell near a point."""
    name = rng.choice(("xs", "xs", "xs", "ys"))
    return f"{name}[{', '.join(_index(rng, one, sizes[one]) for one in points)}]"


def _index(rng: random.Random, point: str, size: str) -> str:
    by = rng.choice((-2, -1, -1, 0, 0, 1, 1, 2))
    moved = point if by == 0 else f"({point} + {by})" if by > 0 else f"({point} - {-by})"
    how = rng.choice(("kept", "kept", "kept", "kept", "around", "asked", "narrow", "table"))
    if by == 0 and rng.random() < 0.7:
        return point
    if how == "around":
        return f"{moved} % {size}"
    if how == "asked":
        return f"(if 0 <= {moved} && {moved} < {size} then {moved} else {point})"
    if how == "narrow":
        return f"i64.i32 (i32.max 0 (i32.min (i32.i64 {size} - 1) (i32.i64 {point} + {by})))"
    if how == "table" and rng.random() < 0.2:
        return f"i64.min ({size} - 1) ({point} / 2)"
    return f"i64.max 0 (i64.min ({size} - 1) {moved})"
