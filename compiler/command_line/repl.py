"""`stridescope repl`: evaluate expressions line by line over a growing set of definitions.

Over a FlatPack program they are in FlatPack. A worker evaluates the input, so that nothing that
it does ends the session: an expression that takes too long is stopped with Ctrl-C, which starts
another worker.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, Related, SyntaxError_, UsageError, UserError
from compiler.base.spans import EXPRESSION, NOWHERE, Span, lines
from compiler.driver import api
from compiler.driver.disk import read_source, with_imports
from compiler.frontend import decs, flatpack
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.files import FLATPACK
from compiler.frontend.parser import parse, parse_expression

HELP = """\
An expression          prints its value
def, type, import ..   adds a declaration; one of the same name takes the place of the first
                       (over a FlatPack program: name params = expression)
:type EXPRESSION       prints a type
:load FILE             begins anew, with the definitions of a program
:reload                reads that program again
:backend NAME          evaluates on another back end
:quit                  ends the session
Lines go on until the expression or declaration is whole, or until an empty line."""
_WORKER = (sys.executable, "-m", "compiler.__main__", "worker", "--with-parent")


@dataclass(slots=True)
class Session:
    """The definitions so far, and the worker that evaluates. A context manager."""

    backend: str = "ref"
    say: Callable[[str], None] = print
    path: str = ""
    program: str = ""
    declared: dict[str, str] = field(default_factory=dict)
    """Declarations by the name that they declare, in order."""
    _worker: subprocess.Popen[str] | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def load(self, path: str) -> None:
        """Start over with the definitions of a program. Raises the program's errors."""
        program = read_source(path)
        with_imports(program, os.path.normpath(path))
        self.program, self.path, self.declared = program, path, {}
        self._checked({})

    def take(self, text: str) -> None:
        """Evaluate a line of input, or run its command; print errors."""
        try:
            if text.lstrip().startswith(":"):
                name, _, rest = text.strip().partition(" ")
                self._command(name, rest)
            elif names := self.declares(text):
                self._checked({**without(self.declared, names), names: text})
            else:
                self._evaluate(text)
        except CompileError as error:
            self.say(error.render(self._source(self.declared)))

    def declares(self, text: str) -> str:
        """Like `declares`, in the language of the program."""
        return declares_flatpack(text) if self.path.endswith(FLATPACK) else declares(text)

    def is_unfinished(self, text: str) -> bool:
        """Return True if the input is incomplete, so that another line is read."""
        try:
            self.declares(text)
        except SyntaxError_ as error:
            end = text.rstrip()
            return error.span[:2] == (end.count("\n") + 1, len(end) - end.rfind("\n"))
        return False

    def _command(self, name: str, rest: str) -> None:
        match name:
            case ":type" | ":t":
                self._evaluate(rest, typed=True)
            case ":load" | ":l":
                self.load(rest.strip())
            case ":reload" | ":r":
                self.load(self.path)
            case ":backend" if rest.strip() in api.RUNNERS:
                self.backend = rest.strip()
            case ":backend":
                raise UsageError(f"The backends are {', '.join(api.RUNNERS)}.")
            case ":quit" | ":q":
                raise EOFError
            case _:
                if name not in (":help", ":h"):
                    self.say(
                        f"There is no command `{name}`. {did_you_mean(name, COMMANDS)}".strip()
                    )
                self.say(HELP)

    def _source(self, declared: dict[str, str]) -> str:
        return "\n".join((self.program, *declared.values()))

    def _checked(self, declared: dict[str, str]) -> None:
        """Add declarations if the program type checks with them."""
        if self._ask({"op": "check"}, declared):
            self.declared = declared

    def _evaluate(self, text: str, typed: bool = False) -> None:
        asked = {"op": "eval", "expression": text, "typed": typed, "backend": self.backend}
        if answer := self._ask(asked, self.declared):
            self.say(answer["output"] or answer["type"])

    def _ask(self, asked: dict[str, Any], declared: dict[str, str]) -> dict[str, Any]:
        """Ask the worker; return {} for an interrupted request or an error, which is printed."""
        source = self._source(declared)
        program = with_imports(source, os.path.normpath(self.path or "repl.fut"))
        root = os.path.commonpath([*map(os.path.dirname, (program.main, *program.files))])
        files = {os.path.relpath(path, root or "."): text for path, text in program.files.items()}
        main = os.path.relpath(program.main, root or ".")
        files.pop(main, None)  # that is there as a near miss
        try:
            answer = self._answer({**asked, "source": source, "files": files, "main": main})
        except KeyboardInterrupt:
            self._end()
            self.say("Stopped.")
            return {}
        if answer["ok"]:
            return answer
        typed = {**self._typed(declared), EXPRESSION: str(asked.get("expression", ""))}
        for problem in answer["error"]["errors"]:
            self.say(self._told(problem, declared).render(self.program, {**files, **typed}))
        return {}

    def _typed(self, declared: dict[str, str]) -> dict[str, str]:
        """Return the declarations under the file names that errors use."""
        return {f"declaration {i}": text for i, text in enumerate(declared.values(), 1)}

    def _told(self, problem: dict[str, Any], declared: dict[str, str]) -> UserError:
        """Convert a worker's error; lines of a declaration count from its own first line."""

        def place(given: list[Any] | None) -> Span:
            span = Span(*given) if given else NOWHERE
            before = len(lines(self.program))
            for name, text in self._typed(declared).items() if not span.file else ():
                count = len(lines(text))
                if before < span.line <= before + count:
                    return Span(
                        span.line - before, span.col, span.end_line - before, span.end_col, name
                    )
                before += count
            return span

        code = f"error[{problem['code']}]: " if "code" in problem else ""
        told = UserError(
            code + problem["message"], place(problem.get("span")), problem.get("hint", "")
        )
        related = problem.get("related", ())
        told.related = tuple(Related(place(one["span"]), one["message"]) for one in related)
        told.calls = tuple(map(place, problem.get("calls", ())))
        return told

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._worker is None or self._worker.poll() is not None:
            pipe = subprocess.PIPE  # in a group of its own: what Ctrl-C ends is up to the session
            self._worker = subprocess.Popen(
                _WORKER, stdin=pipe, stdout=pipe, text=True, start_new_session=True
            )
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        self._worker.stdin.write(json.dumps(request) + "\n")
        self._worker.stdin.flush()
        line = self._worker.stdout.readline()
        if not line:
            message = "There was not enough memory, or the worker has ended."
            problem = {"message": message}
            return {"ok": False, "error": {**problem, "errors": [problem]}}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.communicate()
            self._worker = None


COMMANDS = tuple(line.split()[0] for line in HELP.splitlines() if line[0] == ":")


def declares(text: str) -> str:
    """Return the name that a text declares, "" for an expression. Raises syntax errors."""
    return _declares(text, parse_expression, lambda: map(_named, parse(text).decs))


def declares_flatpack(text: str) -> str:
    """Like `declares`, for FlatPack."""

    def declared() -> Iterator[str]:
        program = flatpack.parse(text)
        yield from ("type" for _ in filter(None, [program.element]))
        yield from (one.name.text for one in program.definitions)

    return _declares(text, flatpack.parse_expression, declared)


def _declares(
    text: str,
    expression: Callable[[str, str], object],
    declarations: Callable[[], Iterable[str]],
) -> str:
    try:
        expression(text, EXPRESSION)
    except SyntaxError_ as error:
        error.text = text
        try:
            found = " ".join(declarations())
        except SyntaxError_ as other:
            other.span, other.text = other.span._replace(file=EXPRESSION), text
            # The reading that got further is the one that was meant.
            raise other if other.span[:2] > error.span[:2] else error from None
        if not found:
            raise error from None
        return found
    return ""


def _named(dec: decs.Dec) -> str:
    """Return the name of a declaration, or its beginning if it has none."""
    dec = decs.without_local(dec)
    if not isinstance(dec, decs.NamedDec):
        return f"{type(dec).__name__} {dec}"
    kind = {"types": "type ", "module_types": "module type ", "modules": "module "}
    return kind.get(dec.declares, "") + dec.name


def without(declared: dict[str, str], name: str) -> dict[str, str]:
    """Return the declarations without that of a name."""
    return {other: text for other, text in declared.items() if other != name}


def typed(read: Callable[[str], str], is_unfinished: Callable[[str], bool]) -> Iterator[str]:
    """Yield whole expressions and declarations until the input ends."""
    while True:
        text, prompt = "", "> "
        try:
            while line := read(prompt):
                text, prompt = f"{text}\n{line}" if text else line, "| "
                if line.lstrip()[:1] == ":" or not is_unfinished(text):
                    break
        except KeyboardInterrupt:
            print()
            continue
        except EOFError:
            if text.strip():
                yield text
            return
        if text.strip():
            yield text


def serve(session: Session) -> None:
    """Read standard input until it ends; on a terminal with history and editing."""
    interactive = sys.stdin.isatty()
    if interactive:
        with contextlib.suppress(ImportError):
            importlib.import_module("readline")
        session.say("Expressions, declarations, and :help.")
    read = input if interactive else lambda _: input()
    for text in typed(read, session.is_unfinished):
        try:
            session.take(text)
        except EOFError:
            return
