"""Measure the errors of every floating-point function, in the interpreter, C and CUDA.

    python -m bench.numbers [PART..]

The parts: `f16`, `f32`, `f64` on this machine, `device` on its GPU; without any, all that there
are. All f16 are tried, and 2^20 numbers of f32 and f64: of all sizes, borders, subnormals, NaN.
The interpreter is held against functions to as many bits as it takes, at 256 of them. Writes
`bench/results/numbers.json` and the tables of `docs/numbers.md`.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np

from bench.machine import RESULTS, ROOT, save, words
from compiler.base.context import Options
from compiler.base.dtypes import DTYPE
from compiler.base.prim import Prim
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir import multiprecision, rounding
from compiler.runtime import device_process
from compiler.runtime.runner import Settings, run_c
from testing import numbers
from testing.numbers import Function, Off

COUNT = 1 << 20
EXACTLY = 256
DOCUMENT = ROOT / "docs" / "numbers.md"
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
TYPES: tuple[Prim, ...] = ("f16", "f32", "f64")
FAST = Options(target="c", enabled=frozenset(("c/fast-functions",)))
COLUMNS = {
    "interpreter": "interpreter",
    "c": "C",
    "fast": "C, `--fast-functions`",
    "cuda": "CUDA",
}


def main() -> int:
    """Measure, write the results and the tables."""
    asked = words(__doc__, "PART")
    wrong = [one for one in asked if one not in (*TYPES, "device")]
    if wrong:
        print(f"There is no part `{wrong[0]}`.", file=sys.stderr)
        return 2
    chosen = [at for at in TYPES if at in asked] or list(TYPES)
    found = {} if asked == ["device"] else on_this_machine(chosen)
    if not device_process.why_not() and (not asked or "device" in asked):
        found |= on_device()
    found = load() | found
    save("numbers", "python -m bench.numbers", found)
    DOCUMENT.write_text(filled(DOCUMENT.read_text(), found))
    return 0


def load() -> dict[str, Any]:
    """Read the figures of earlier runs."""
    path = RESULTS / "numbers.json"
    found: dict[str, Any] = json.loads(path.read_text())["figures"] if path.exists() else {}
    return found


def on_this_machine(types: list[Prim]) -> dict[str, Any]:
    """The interpreter and C, with and without the switch, and what the switch saves."""
    made: dict[str, Any] = {}
    for at in types:
        codes = {"c": Options(target="c"), **({"fast": FAST} if at != "f16" else {})}
        made |= measured(at, codes, "interpreter")
        if at != "f16":
            made[f"times {at}"] = times(at)
    return made


def on_device() -> dict[str, Any]:
    """The same functions on a GPU."""
    made: dict[str, Any] = {}
    for at in TYPES:
        made |= measured(at, {"cuda": Options(target="cuda")})
    return made


def measured(at: Prim, options: dict[str, Options], interpreter: str = "") -> dict[str, Any]:
    """Return the errors of compiled functions, and those of the interpreter."""
    source = numbers.program(at)
    codes = {
        name: plain(Compilation(source, o).result(o.target).text) for name, o in options.items()
    }
    made: dict[str, Any] = {f"{name} {at}": {} for name in (*codes, *filter(None, [interpreter]))}
    for fun in numbers.functions():
        print(at, fun.name, file=sys.stderr, flush=True)
        args = numbers.inputs(fun, at, COUNT)
        true = numbers.truth(fun, at, args)
        for name, code in codes.items():
            run: Callable[..., Any] = device_process.run_cuda if name == "cuda" else run_c
            found = run(code, fun.symbol, args).values[0]
            made[f"{name} {at}"][fun.name] = asdict(numbers.compared(fun, at, true, found))
        if interpreter and fun.name in multiprecision.FUNCTIONS:
            made[f"{interpreter} {at}"][fun.name] = asdict(exactly(fun, at, args, true.right))
    return made


def exactly(fun: Function, at: Prim, args: list[Any], right: Any) -> Off:
    """Return the interpreter's errors, relative to functions of multiple precision."""
    cells = np.random.default_rng(1).permutation(len(right))[:EXACTLY]
    return worst(fun, at, [[float(arg[k]) for arg in args] for k in cells], right[cells])


def worst(fun: Function, at: Prim, args: list[list[float]], got: Any) -> Off:
    """The largest distance from the exact value."""
    wrong, units = 0, 0.5
    for given, value in zip(args, map(float, got), strict=True):
        if not all(map(math.isfinite, (*given, value))) or value == 0 or given[0] == 0:
            continue
        if abs(given[0]) < 1e-30 and fun.name in ("gamma", "lgamma"):
            continue  # a thousand bits and more, for what is 1 / x
        wrong += rounding.rounded(fun.name, at, *given) != value
        w = 120 - min(math.frexp(value)[1], 0)
        exact = Fraction(multiprecision.FUNCTIONS[fun.name](*map(Fraction, given), w), 1 << w)
        units = max(units, float(abs(exact - Fraction(value)) / step(value, at)))
    return Off(wrong, units, 0)


def step(value: float, at: Prim) -> Fraction:
    """A unit in the last place."""
    digits, least = numbers.DIGITS[at]
    return Fraction(2) ** max(math.frexp(value)[1] - digits, least)


def times(at: Prim) -> dict[str, list[float]]:
    """Nanoseconds an element on one core, without and with `--fast-functions`."""
    source = numbers.program(at)
    codes = [plain(Compilation(source, options).result("c").text) for options in (Options(), FAST)]
    found = {}
    for fun in numbers.functions():
        if fun.name not in numbers.CHANGED:
            continue
        of = np.random.default_rng(2)
        args = [of.uniform(1.1, 4, 1 << 16).astype(DTYPE[at]) for _ in range(fun.arity)]
        found[fun.name] = [spent(code, fun.symbol, args) for code in codes]
    return found


def spent(code: str, entry: str, args: list[Any]) -> float:
    """Nanoseconds an element, the median of some runs."""
    taken = [run_c(code, entry, args, settings=Settings(cores=1)).ms for _ in range(5)]
    return round(statistics.median(taken) * 1e6 / len(args[0]), 2)


def cell(off: dict[str, float] | None) -> str:
    """Return a table's cell about the errors of one function."""
    if off is None:
        return "-"
    other = f", {off['other']:.0f} of another kind" if off["other"] else ""
    if not off["wrong"]:
        return f"right{other}"
    return f"{off['units']:.2f}{other}"


def table(at: Prim, found: dict[str, Any]) -> str:
    """One type's table."""
    columns = [(name, title) for name, title in COLUMNS.items() if f"{name} {at}" in found]
    head = ["function", *(title for _, title in columns)]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for fun in numbers.functions():
        cells = [cell(found[f"{name} {at}"].get(fun.name)) for name, _ in columns]
        lines.append(f"| `{fun.name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def costs(found: dict[str, Any]) -> str:
    """Return the table of times with and without the switch."""
    lines = ["| function | usual, ns | `--fast-functions`, ns |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {usual} | {fast} |" for name, (usual, fast) in found.items()]
    return "\n".join(lines)


def filled(text: str, found: dict[str, Any]) -> str:
    """The document with the tables of what was measured."""
    parts = [f"## {at}\n\n{table(at, found)}" for at in TYPES if f"c {at}" in found]
    parts += [
        f"## What `--fast-functions` saves, {at}\n\n{costs(found[f'times {at}'])}"
        for at in TYPES
        if f"times {at}" in found
    ]
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}"


if __name__ == "__main__":
    raise SystemExit(main())
