"""Costs as formulas in a program's sizes: of functions and statements, at a stage."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, OfProgram, Operation, Says, Span


class CostFormula(TypedDict):
    """A cost as formulas, which are sums of products of sizes, numbers and unknown amounts."""

    work: str
    """operators of scalar expressions, and elements read and written"""
    span: str
    """the same along the longest chain, if there are as many processors as rows"""
    moved: str
    """bytes of the elements read and written"""
    made: str
    """bytes of the arrays made, or with memory of the blocks allocated"""
    at_most: bool
    """upper bounds: branches differ in cost"""


class StatementFormula(TypedDict):
    """The cost of a statement for each time that it is reached."""

    text: str
    """the names that it binds"""
    src: list[Span]
    depth: int
    """the number of loops and branches around it"""
    cost: CostFormula
    free: bool
    """it does nothing when the program runs, such as a view"""


class FunctionFormula(TypedDict):
    """The cost of a call of a function."""

    name: str
    cost: CostFormula
    unknown: list[str]
    """reasons for which the formulas leave something out, in words"""
    statements: list[StatementFormula]
    difference: NotRequired[CostFormula]
    """what it costs more than at the other stage"""


class FormulasAnswer(Answer):
    """Formulas of all functions of a stage, in order."""

    stage: str
    against: str
    functions: list[FunctionFormula]
    amounts: list[str]
    """amounts in the formulas that only a run tells, in words"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulasRequest(OfProgram):
    """Tell work, span, bytes moved and bytes made by functions and statements, as formulas."""

    stage: Annotated[str, Says("is the id of a stage of the core language")] = "fused"
    """a stage of the core language"""
    against: Annotated[str, Says("is the id of a stage of the core language, or empty")] = ""
    """another one, for the difference; empty: none"""


FORMULAS = Operation(
    "formulas",
    FormulasRequest,
    FormulasAnswer,
    {"stage": "flat", "against": "fused"},
    answered_in="compiler.driver.cost_formulas",
)
