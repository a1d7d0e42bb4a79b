"""Answer `formulas`: the costs of a stage's functions and statements, by the author's names."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.algebra.poly import Poly
from compiler.base.errors import UsageError
from compiler.base.names import Name, base_of
from compiler.base.spans import user_spans
from compiler.driver.api import compilation
from compiler.driver.pipeline import STAGES, Compilation, stage_named
from compiler.explain.cost_formulas import (
    MEASURED,
    CostFormulas,
    FunctionCost,
    SymbolicCost,
    cost_formulas,
)
from compiler.ir.walk import all_stms
from compiler.protocol import cost_formulas as protocol
from compiler.protocol.answering import answers
from compiler.protocol.polynomials import as_called


@answers(protocol.FORMULAS)
def formulas(asked: protocol.FormulasRequest) -> protocol.FormulasAnswer:
    """Return formulas for a stage, and how they differ from those of another one."""
    work = compilation(asked)
    shown = _of_stage(work, asked.stage)
    other = _of_stage(work, asked.against) if asked.against else None
    words = _Words(work, [shown, *([other] if other else [])])
    functions = [_function(one, words) for one in shown.functions.values()]
    if other is not None:
        for told, one in zip(functions, shown.functions.values(), strict=True):
            before = other.functions.get(one.fun.name)
            if before is not None:
                told["difference"] = words.cost(_minus(one.cost, before.cost))
    return {
        "ok": True,
        "stage": asked.stage,
        "against": asked.against,
        "functions": functions,
        "amounts": words.amounts(shown),
    }


def _of_stage(work: Compilation, name: str) -> CostFormulas:
    """Return the formulas of a stage. Raises UsageError for those of other languages."""
    stage = stage_named(name)
    if stage.kind != "ir":
        stages = ", ".join(one.id for one in STAGES if one.kind == "ir")
        raise UsageError(f"Stage `{name}` has no cost formulas.", hint=f"These have: {stages}.")
    return cost_formulas(work.result(name).prog)


def _minus(one: SymbolicCost, other: SymbolicCost) -> SymbolicCost:
    parts = (a - b for a, b in zip(one.parts, other.parts, strict=True))
    return SymbolicCost.of(parts, one.at_most or other.at_most, one.unknown | other.unknown)


def _function(one: FunctionCost, words: _Words) -> protocol.FunctionFormula:
    return {
        "name": one.fun.name,
        "cost": words.cost(one.cost),
        "unknown": sorted(one.cost.unknown),
        "statements": [
            {
                "text": ", ".join(words.name(param.name) for param in told.stm.pat) or "check",
                "src": user_spans(told.stm.prov),
                "depth": told.depth,
                "cost": words.cost(told.cost),
                "free": not any(part.terms for part in told.cost.parts),
            }
            for told in one.statements
        ],
    }


class _Words:
    """Prints polynomials by the author's names."""

    def __init__(self, work: Compilation, found: Iterable[CostFormulas]) -> None:
        self.atoms = {name: one for each in found for name, one in each.atoms.items()}
        names = set[Name]()
        self.lines: dict[int, int] = {}
        for each in found:
            for fun in each.prog.funs:
                names.update(param.name for param in fun.params)
                for stm in all_stms(fun.body.stms):
                    names.update(param.name for param in stm.pat)
            for function in each.functions.values():
                for told in function.statements:
                    for part in told.cost.parts:
                        names.update(part.names() - self.atoms.keys())
        said = work.names().said
        self.name = as_called(names, {name: said(name) or base_of(name) for name in names})

    def poly(self, poly: Poly) -> str:
        """Print a polynomial."""
        names = poly.names()
        return str(poly.subst({name: Poly.var(self._text(name)) for name in names}))

    def _text(self, name: Name) -> str:
        atom = self.atoms.get(name)
        if atom is None:
            return self.name(name)
        of = self.poly(atom.of)
        match atom.op:
            case "lg":
                return f"lg({of})"
            case "max0":
                return f"max(0, {of})"
            case "sum":
                power = f"**{atom.power}" if atom.power > 1 else ""
                return f"sum(i{power} for i < {of})"
            case "average":
                return f"mean({of})"
            case "largest":
                return f"max({of})"
            case "most":
                return f"most_rounds({self._loop(name)})"
        return f"rounds({self._loop(name)})"

    def _loop(self, name: Name) -> str:
        """Return the name that a loop of unknown length binds."""
        return self.name(name.partition("#")[0].rpartition(" ")[2])

    def cost(self, cost: SymbolicCost) -> protocol.CostFormula:
        """Return a cost as formulas."""
        work, span, moved, made = map(self.poly, cost.parts)
        return {"work": work, "span": span, "moved": moved, "made": made, "at_most": cost.at_most}

    def amounts(self, found: CostFormulas) -> list[str]:
        """Return the amounts in formulas of calls that only a run tells."""
        costs = [one.cost for one in found.functions.values()]
        used = {name for cost in costs for part in cost.parts for name in part.names()}
        return sorted(
            {self._text(n) for n in used if n in self.atoms and self.atoms[n].op in MEASURED}
        )
