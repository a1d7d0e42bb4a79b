"""`stridescope cost`: what functions and statements cost, as formulas in their sizes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from compiler.command_line import options
from compiler.command_line.given import program_of
from compiler.command_line.late import LateParser
from compiler.command_line.printing import place_text
from compiler.command_line.status import OK
from compiler.driver.cost_formulas import formulas
from compiler.protocol.cost_formulas import (
    CostFormula,
    FormulasAnswer,
    FormulasRequest,
    FunctionFormula,
)


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to)
    options.add_switches_to_help(to)
    to.add_argument("--stage", default="fused", help="a stage from soa to merged; default: fused")
    to.add_argument("--against", default="", help="another one, for the difference")
    to.add_argument("--entry", default="", help="compile only this entry point")


def run(args: argparse.Namespace) -> int:
    """Print the formulas and return the exit status. Raises `CompileError`."""
    asked = FormulasRequest(*program_of(args), stage=args.stage, against=args.against)
    answer = formulas(asked)
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    for line in _lines(answer):
        print(line)
    return OK


def _lines(answer: FormulasAnswer) -> Iterator[str]:
    for one in answer["functions"]:
        yield from _function(one, answer)
    for amount in answer["amounts"]:
        yield f"{amount}: only a run tells it"


def _function(one: FunctionFormula, answer: FormulasAnswer) -> Iterator[str]:
    yield f"{one['name']}, stage {answer['stage']}"
    yield from _cost(one["cost"], "  ")
    for reason in one["unknown"]:
        yield f"  not counted: {reason}"
    if "difference" in one:
        bounds = ", by the upper bounds" if one["difference"]["at_most"] else ""
        yield f"  more than in stage {answer['against']}{bounds}"
        yield from _cost({**one["difference"], "at_most": False}, "    ")
    for stm in one["statements"]:
        indent = "  " * (stm["depth"] + 1)
        place = f"{place_text(stm['src'][0])}: " if stm["src"] else ""
        cost = stm["cost"]
        told = "free" if stm["free"] else f"work {cost['work']}, moved {cost['moved']} bytes"
        yield f"{indent}{place}{stm['text']}: {told}"


def _cost(cost: CostFormula, indent: str) -> Iterator[str]:
    bound = "at most " if cost["at_most"] else ""
    yield f"{indent}work   {bound}{cost['work']}"
    yield f"{indent}span   {bound}{cost['span']}"
    yield f"{indent}moved  {bound}{cost['moved']} bytes"
    yield f"{indent}made   {bound}{cost['made']} bytes"
