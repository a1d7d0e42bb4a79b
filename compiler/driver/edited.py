"""A stage's text as its reader has written it: read, verified, and gone on from.

What is written takes the place of what the passes of the stage make. It may compute something
else, or write where others read: nothing here says that it means what the program does. Statements
that define the same names as before keep their places in the source.
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
"""By the kind of a stage; texts of other kinds are not read back."""
_TAG = re.compile(r"_(\d{1,18})\b")


class EditedText(UsageError):
    """What was written is no program of its stage, or nothing can be made of it."""


def read(text: str, stage: str, kind: str, made: Any) -> Any:
    """The program that a text denotes, in the place of what was `made`.

    Raises SyntaxError_ with its place in the text, and EditedText where it has other entry points.
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
                hint="Every definition has a name of its own: passes move statements by names.",
            )
    if signatures(found) != signatures(made):
        raise EditedText(
            f"The entry points of the text of `{stage}` are not those of the program.",
            hint="Their names, and the types of what they take and give, stay as they were.",
        )
    return _placed(found, made) if isinstance(found, ir.Prog) else found


def last_tag(text: str) -> int:
    """The largest number that a name of the text may end in."""
    return max((int(tag) for tag in _TAG.findall(text)), default=0)


def unread(stage: str, error: Exception) -> EditedText:
    """What is told of a text that is read, and is no program all the same."""
    said = error.message if isinstance(error, CompileError) else f"{type(error).__name__}: {error}"
    return EditedText(f"The text of `{stage}` is no program of that stage: {said}")


def unsound(stage: str, rule: str, error: CompilerBug) -> Remark:
    """What is said of a text by which arrays do not keep their values."""
    because = f"The text of `{stage}`, as it is written, is unsound: {error.message}."
    hint = "It is compiled all the same: run it, and ask which stages agree."
    return Remark("missed", rule, (), because, hint, stage=stage)


def stuck(written: str, stage: str, error: Exception) -> EditedText:
    """What is told where a later stage cannot go on."""
    said = error.message if isinstance(error, CompileError) else f"{type(error).__name__}: {error}"
    return EditedText(
        f"Nothing can be made of the text of `{written}` in stage `{stage}`: {said}",
        hint="It passes the checks of its stage, but promises more than these check.",
    )


def cannot(stage: str) -> UsageError:
    """What is told of a stage whose text is not read back."""
    return UsageError(
        f"The text of `{stage}` is not read back.",
        hint="Edit the source for the first stages, and `imp` or `kernels` for texts of targets.",
    )


def interpreted(written: Mapping[str, str]) -> str:
    """The stage that the interpreter runs where none is named: with blocks, of what is written.

    Raises UsageError for kernels, which it does not run.
    """
    if "kernels" in written:
        raise UsageError("The reference interpreter runs no text of `kernels`.")
    return "imp" if written else ""


def unchecked(written: Mapping[str, str]) -> str:
    """What to know of a result of code that a text written by hand has become."""
    stages = " and ".join(f"`{stage}`" for stage in written)
    return (
        f"The text of {stages} was written by hand: nothing stops it where it goes outside of a "
        "block. The interpreter (`--backend ref`) and `--sanitize` do."
    )


def signatures(prog: ir.Prog | ImpProg) -> list[tuple[Any, ...]]:
    """Names of entry points, and what they take and give, without the names of sizes."""
    found: list[tuple[Any, ...]] = []
    for fun in prog.funs:
        sides: list[tuple[Any, ...]] = [fun.params, fun.results]
        if not isinstance(fun, ir.Function):
            sides += [fun.inputs, fun.outputs]
        if fun.entry:
            found.append((fun.name, fun.implicit, *(tuple(map(_kind, side)) for side in sides)))
    return sorted(found, key=str)


def _kind(one: Any) -> tuple[Any, ...]:
    """The type of a parameter, as far as callers rely on it."""
    rank = len(one.type.shape) if isinstance(one.type, ir.Array) else -1
    return type(one.type).__name__, getattr(one.type, "prim", None), rank


def _bound(prog: ir.Prog) -> Iterator[Name]:
    """The names that parameters, statements, points and lambdas bind."""
    for fun in prog.funs:
        yield from (param.name for param in fun.params)
        yield from bound(fun.body)


def _placed(prog: ir.Prog, before: ir.Prog) -> ir.Prog:
    """The program with the places of what defined the same names before."""
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
