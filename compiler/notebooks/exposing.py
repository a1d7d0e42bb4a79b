"""Expose definitions that are no entry points to scripts, as entry points of a program of its own.

Definitions that cannot be entry points stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError
from compiler.base.spans import Span
from compiler.driver import api
from compiler.frontend import decs
from compiler.protocol.kinds import OfProgram

_WHY = {
    codes.types.POLYMORPHIC_ENTRY: "it is for values of any type",
    codes.types.FUNCTION: "it takes or gives a function",
    codes.sizes.ENTRY: "it depends on a size that no argument has",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposing(OfProgram):
    """A program with further definitions as entry points."""

    exposed: tuple[str, ...] = ()


def exposing(asked: OfProgram, names: Collection[str]) -> tuple[Exposing, Mapping[str, str]]:
    """Make the named definitions entry points; return the program, and reasons for those left out.

    Names that it does not define are ignored. Errors: of the program.
    """
    defined = _definitions(asked)
    wanted = {name for name in defined.values() if name in names}
    refused: dict[str, str] = {}
    while True:
        exposed = tuple(sorted(wanted - refused.keys()))
        made = Exposing(asked.source, asked.options, asked.files, asked.main, exposed=exposed)
        try:
            api.compilation(made).result("typed")
        except CompileError as error:
            found = {
                defined[one.span]: _WHY[one.code]
                for one in (error, *error.others)
                if one.code in _WHY and defined.get(one.span) in exposed
            }
            if not found:
                raise
            refused |= found
        else:
            return made, refused


def defined(asked: OfProgram) -> Collection[str]:
    """Return the names that a program defines outside modules. Errors: of its syntax."""
    return _definitions(asked).values()


def _definitions(asked: OfProgram) -> dict[Span, str]:
    program = api.compilation(asked).result("ast").prog
    if not isinstance(program, decs.Program):
        return {}
    return {one.name_span: one.name for one in program.decs if isinstance(one, decs.ValDec)}
