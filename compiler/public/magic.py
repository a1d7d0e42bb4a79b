"""The magic of notebooks: a cell that begins with `%%stridescope` is a Futhark program.

    %load_ext stridescope

    %%stridescope sums --stage funmem --accesses n=512 --run xs
    entry main [n] (xs: [n]f32) = f32.sum xs

This binds `sums` to the compiled program, as by `stridescope.compile`, and shows the requested
stages, the cost of each access on a GPU, and results for arguments given as expressions of Python.
"""

from __future__ import annotations

import argparse
import html
import shlex
from collections.abc import Sequence
from typing import Any, NoReturn

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers.c_like import CudaLexer

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, UsageError
from compiler.driver import explanations
from compiler.driver.pipeline import BY_ID
from compiler.explain.accesses import told as told_accesses
from compiler.protocol.accesses import ObserveRequest
from compiler.public.given import deep
from compiler.public.lexers import FutharkLexer, StageLexer
from compiler.public.program import CompiledProgram

NAME = "program"
OBSERVED_SECONDS = 10.0
_COLOURS: dict[str, type[Lexer]] = {"text": CudaLexer, "typed": FutharkLexer}
"""By the kind of a stage; other kinds are the compiler's own languages."""


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A text in a cell's output; `kind` is that of a stage, "" for plain text."""

    title: str
    text: str
    kind: str = ""

    def as_html(self) -> str:
        """Render the text as HTML, with a title that folds it, and colours."""
        if self.kind:
            style: Any = HtmlFormatter(noclasses=True, nobackground=True)
            body = highlight(self.text, _COLOURS.get(self.kind, StageLexer)(), style)
        else:
            body = f"<pre>{html.escape(self.text)}</pre>"
        title = html.escape(self.title)
        return f"<details open><summary>{title}</summary>{body}</details>"


@dataclass(frozen=True, slots=True)
class CellShown:
    """A cell's output: HTML in a notebook, text elsewhere."""

    parts: tuple[ShownPart, ...]

    def __repr__(self) -> str:
        return "\n\n".join(f"{part.title}\n{part.text.rstrip()}" for part in self.parts)

    def _repr_html_(self) -> str:
        return "".join(part.as_html() for part in self.parts)


class _Options(argparse.ArgumentParser):
    """The options of the line; errors are raised instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%stridescope: {message}.", hint=self.format_usage().strip())


def _options() -> _Options:
    made = _Options(prog="%%stridescope", add_help=False)
    made.add_argument("name", nargs="?", default=NAME)
    made.add_argument("--stage", action="append", default=[])
    made.add_argument("--target", default="")
    made.add_argument("--disable", action="append", default=[])
    made.add_argument("--entry", default="")
    made.add_argument("--run", nargs="*")
    made.add_argument("--accesses", nargs="*", metavar="SIZE=NUMBER")
    return made


def cell(line: str, source: str, names: dict[str, Any]) -> CellShown:
    """Compile a cell, bind the program to its name, and return the requested output.

    Raises `Error` for an invalid program or line, or a failed run.
    """
    try:
        return _cell(line, source, names)
    except CompileError as error:
        said = error.render(source).splitlines()
        error._render_traceback_ = lambda: said  # type: ignore[attr-defined]  # for IPython
        raise


def _cell(line: str, source: str, names: dict[str, Any]) -> CellShown:
    asked = _options().parse_args(shlex.split(line))
    if not asked.name.isidentifier():
        raise UsageError(f"%%stridescope: `{asked.name}` is not a valid Python name.")
    program = deep(lambda: CompiledProgram(source, asked.target, asked.disable))
    names[asked.name] = program
    entry = asked.entry or ("main" if "main" in program.entries else (*program.entries, "main")[0])
    parts = [_entries(asked.name, program)]
    parts += [_stage(program, stage) for stage in asked.stage]
    if asked.accesses is not None:
        parts.append(_accesses(program, entry, asked.accesses))
    if asked.run is not None:
        parts.append(_results(program, entry, asked.run, names))
    return CellShown(tuple(parts))


def _entries(name: str, program: CompiledProgram) -> ShownPart:
    lines = [program[entry].__doc__ or "" for entry in program.entries]
    return ShownPart(
        f"{name}: {len(lines)} entry points" if len(lines) != 1 else name, "\n".join(lines)
    )


def _stage(program: CompiledProgram, stage: str) -> ShownPart:
    text = program.text(stage)
    return ShownPart(BY_ID[stage].title, text, BY_ID[stage].kind)


def _accesses(program: CompiledProgram, entry: str, sizes: Sequence[str]) -> ShownPart:
    asked = program.asked("cuda")
    request = ObserveRequest(
        asked.source,
        asked.options,
        asked.files,
        entry=entry,
        sizes=_numbers(sizes),
        seconds=OBSERVED_SECONDS,
    )
    answer = deep(lambda: explanations.observe(request))
    return ShownPart(f"Accesses of {entry} on a GPU", "\n".join(told_accesses(answer)))


def _numbers(sizes: Sequence[str]) -> dict[str, int]:
    """Parse sizes by name. Raises UsageError for anything but `NAME=NUMBER`."""
    found = {}
    for one in sizes:
        name, _, number = one.partition("=")
        if not number.isdigit():
            raise UsageError(f"%%stridescope: `{one}` is no size, as `n=512` is.")
        found[name] = int(number)
    return found


def _results(
    program: CompiledProgram, entry: str, expressions: Sequence[str], names: dict[str, Any]
) -> ShownPart:
    given = [eval(one, names) for one in expressions]
    found = program[entry](*given)
    several = found if isinstance(found, tuple) else (found,)
    text = "\n".join(map(repr, several))
    return ShownPart(f"{entry}({', '.join(expressions)})", text)


def add_to(shell: Any) -> None:
    """Add the magic to an IPython shell."""

    def stridescope(line: str, text: str) -> CellShown:
        return cell(line, text, shell.user_ns)

    stridescope.__doc__ = __doc__
    shell.register_magic_function(stridescope, magic_kind="cell", magic_name="stridescope")
