"""Ask Z3, if installed, whether two LMADs overlap."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any, Literal

from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name

SECONDS = 3
"""Default timeout."""

Verdict = Literal["disjoint", "overlap", "unknown", "absent"]


@dataclass(frozen=True, slots=True)
class Opinion:
    """The verdict, and the reason if there is none."""

    verdict: Verdict
    says: str = ""


def ask_z3(first: Lmad[Poly], second: Lmad[Poly], facts: Facts, seconds: float) -> Opinion:
    """Ask whether integers for all names and indices exist for which both sets hold one cell.

    A cell found by Z3 is verified before it is reported.
    """
    if importlib.util.find_spec("z3") is None:
        return Opinion("absent", "Z3 is not installed here: `pip install z3-solver`.")
    z3: Any = importlib.import_module("z3")
    try:
        return _asked(z3, first, second, facts, seconds)
    except z3.Z3Exception as error:
        return Opinion("unknown", f"Z3 gave up: {error}")


def _asked(z3: Any, first: Lmad[Poly], second: Lmad[Poly], facts: Facts, seconds: float) -> Opinion:
    solver = z3.Solver(ctx=(context := z3.Context()))
    solver.set(timeout=max(1, int(seconds * 1000)))
    names: dict[Name, Any] = {}

    def term(poly: Poly) -> Any:
        total = z3.IntVal(0, context)
        for monomial, coefficient in poly.in_order():
            product = z3.IntVal(coefficient, context)
            for name, power in monomial:
                for _ in range(power):
                    product = product * names.setdefault(name, z3.Int(name, context))
            total = total + product
        return total

    for bound in facts.bounds:
        solver.add(term(bound) >= 0)
    for name, poly in facts.equalities.items():
        solver.add(term(Poly.var(name)) == term(poly))
    sums, indices = [], []
    for side, lmad in enumerate((first, second)):
        cell = term(lmad.offset)
        indices.append([z3.Int(f"z{side}.{k}", context) for k in range(len(lmad.dims))])
        for z, dim in zip(indices[-1], lmad.dims, strict=True):
            solver.add(z >= 0, z < term(dim.size))
            cell = cell + z * term(dim.stride)
        sums.append(cell)
    solver.add(sums[0] == sums[1])
    answer = str(solver.check())
    if answer == "unsat":
        return Opinion("disjoint")
    if answer == "unknown":
        return Opinion("unknown", f"No answer within {seconds:g} s: {solver.reason_unknown()}.")
    model = solver.model()

    def value(of: Any) -> int:
        return int(model.eval(of, model_completion=True).as_long())

    point = {name: value(of) for name, of in names.items()}
    found = [[value(z) for z in zs] for zs in indices]
    if not _is_shared(first, second, facts, point, found):
        return Opinion("unknown", "What Z3 found is no cell of both.")
    told = ", ".join(f"{name} = {point[name]}" for name in sorted(point) if name.isidentifier())
    cell = first.evaluate(point).index(*found[0])
    return Opinion("overlap", f"Both hold cell {cell}" + (f" for {told}." if told else "."))


def _is_shared(
    first: Lmad[Poly],
    second: Lmad[Poly],
    facts: Facts,
    point: Mapping[Name, int],
    found: list[list[int]],
) -> bool:
    """True if facts hold at this point, and both sets have one cell at these indices."""
    here = [lmad.evaluate(point) for lmad in (first, second)]
    inside = all(
        0 <= z < dim.size
        for lmad, index in zip(here, found, strict=True)
        for z, dim in zip(index, lmad.dims, strict=True)
    )
    known = all(bound.evaluate(point) >= 0 for bound in facts.bounds)
    return inside and known and here[0].index(*found[0]) == here[1].index(*found[1])
