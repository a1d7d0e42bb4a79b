"""Read and verify a stage's text that the user has edited.

It replaces the output of the stage's passes. It may compute something else, or write cells that
others read: that it means the same as the source is not checked. Statements that define the same
names as before keep their places in the source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from compiler.base.errors import CompileError, CompilerBug, SyntaxError_, UsageError
from compiler.base.names import Name
from compiler.base.remarks import Remark
from compiler.base.spans import Prov, file_of_stage
from compiler.codegen.imp import parser as imp_parser
from compiler.codegen.imp.nodes import ImpProg
from compiler.codegen.kernels import parser as kernel_parser
from compiler.ir import nodes as ir
from compiler.ir import parser as ir_parser
from compiler.ir.walk import all_stms, bound, map_stms

READERS: Mapping[str, Callable[[str], Any]] = {
    "ir": ir_parser.parse,
    "imp": imp_parser.parse,
    "kernels": kernel_parser.parse,
}
"""Readers by the kind of a stage; texts of other kinds are not read back."""
_TAG = re.compile(r"_(\d{1,18})\b")


class EditedText(UsageError):
    """The edited text is not a program of its stage, or a later stage rejects it."""


def read(text: str, stage: str, kind: str, made: Any) -> Any:
    """Parse an edited text, to replace the program `made`.

    Raises SyntaxError_ with its place in the text, and EditedText if entry points differ.
    """
    try:
        found = READERS[kind](text)
    except SyntaxError_ as error:
        error.span = error.span._replace(file=file_of_stage(stage))
        error.text = text
        raise
    except (KeyError, ValueError, TypeError, AttributeError, CompilerBug) as error:
        raise unread(stage, error) from error
    if isinstance(found, ir.Prog):
        twice = [name for name, count in Counter(_bound(found)).items() if count > 1]
        if twice:
            raise EditedText(
                f"The text of `{stage}` defines `{twice[0]}` twice.",
                hint=(
                    "Give every definition a different name: passes refer to statements by name."
                ),
            )
    if signatures(found) != signatures(made):
        raise EditedText(
            f"The entry points of the text of `{stage}` differ from those of the program.",
            hint="Keep their names, and the types of their parameters and results.",
        )
    return _placed(found, made) if isinstance(found, ir.Prog) else found


def last_tag(text: str) -> int:
    """Return the largest number at the end of a name in the text."""
    return max((int(tag) for tag in _TAG.findall(text)), default=0)


def unread(stage: str, error: Exception) -> EditedText:
    """Make the error for a text that parses but fails the checks of its stage."""
    said = error.message if isinstance(error, CompileError) else f"{type(error).__name__}: {error}"
    return EditedText(f"The text of `{stage}` is not a program of that stage: {said}")


def unsound(stage: str, rule: str, error: CompilerBug) -> Remark:
    """Make the remark for a text in which arrays do not keep their values."""
    because = f"The edited text of `{stage}` is unsound: {error.message}."
    hint = "It is compiled anyway: run it, and check which stages agree."
    return Remark("missed", rule, (), because, hint, stage=stage)


def stuck(written: str, stage: str, error: Exception) -> EditedText:
    """Make the error for a text that a later stage rejects."""
    said = error.message if isinstance(error, CompileError) else f"{type(error).__name__}: {error}"
    return EditedText(
        f"Stage `{stage}` cannot compile the text of `{written}`: {said}",
        hint=(
            "The text passes the checks of its stage, but relies on properties that these "
            "do not check."
        ),
    )


def cannot(stage: str) -> UsageError:
    """Make the error for a stage whose text is not read back."""
    return UsageError(
        f"The text of `{stage}` cannot be edited.",
        hint="Edit the source for the first stages, and `imp` or `kernels` for target code.",
    )


def interpreted(written: Mapping[str, str]) -> str:
    """Return the default stage for the interpreter: with memory, if a text is edited.

    Raises UsageError for kernels, which it cannot run.
    """
    if "kernels" in written:
        raise UsageError("The reference interpreter cannot run a text of `kernels`.")
    return "imp" if written else ""


def unchecked(written: Mapping[str, str]) -> str:
    """Make the note on results of compiled code that comes from an edited text."""
    stages = " and ".join(f"`{stage}`" for stage in written)
    return (
        f"The text of {stages} was written by hand, so nothing stops accesses outside a "
        "block. The interpreter (`--backend ref`) and `--sanitize` do."
    )


def signatures(prog: ir.Prog | ImpProg) -> list[tuple[Any, ...]]:
    """Return names and types of entry points, without the names of sizes."""
    found: list[tuple[Any, ...]] = []
    for fun in prog.funs:
        sides: list[tuple[Any, ...]] = [fun.params, fun.results]
        if not isinstance(fun, ir.Function):
            sides += [fun.inputs, fun.outputs]
        if fun.entry:
            found.append((fun.name, fun.implicit, *(tuple(map(_kind, side)) for side in sides)))
    return sorted(found, key=str)


def _kind(one: Any) -> tuple[Any, ...]:
    """Return the type of a parameter as far as callers depend on it."""
    rank = len(one.type.shape) if isinstance(one.type, ir.Array) else -1
    return type(one.type).__name__, getattr(one.type, "prim", None), rank


def _bound(prog: ir.Prog) -> Iterator[Name]:
    """Yield all names that a program binds: parameters, statements, indices, lambdas."""
    for fun in prog.funs:
        yield from (param.name for param in fun.params)
        yield from bound(fun.body)


def _placed(prog: ir.Prog, before: ir.Prog) -> ir.Prog:
    """Copy provenance from the old program to statements that define the same names."""
    places: dict[tuple[Name, ...], Prov] = {}
    for fun in before.funs:
        for stm in all_stms(fun.body.stms):
            if stm.pat:
                places.setdefault(_names(stm), stm.prov)

    def placed(stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        return tuple(
            ir.Stm(stm.pat, map_stms(stm.exp, placed), places.get(_names(stm), ())) for stm in stms
        )

    own = {fun.name: fun.prov for fun in before.funs}
    return ir.Prog(
        tuple(
            replace(
                fun,
                body=replace(fun.body, stms=placed(fun.body.stms)),
                prov=own.get(fun.name, ()),
            )
            for fun in prog.funs
        )
    )


def _names(stm: ir.Stm) -> tuple[Name, ...]:
    return tuple(param.name for param in stm.pat)
