"""Check a program of several files: each once, after those that it imports.

A file sees the prelude and what it imports, and exports what it declares without `local`. An error
in a file ends the check, so that importers do not repeat it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Protocol

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, TypeError_
from compiler.frontend import decs
from compiler.frontend.check.checked_files import Interface, Progress
from compiler.frontend.check.missing_imports import missing, package_hint
from compiler.frontend.check.program import Checked, ModuleBody, check_decs
from compiler.frontend.check.scope.scope import Module, Scope
from compiler.frontend.files import Import, imports, parsed


class Way(Protocol):
    """Strategy for reading and checking files."""

    def imports(self, path: str) -> Iterable[Import]:
        """Return the imports of a file.

        Errors: of syntax, in that file.
        """

    def check_file(self, path: str, direct: list[str]) -> Module:
        """Check a file whose imports `direct` have been checked; return its declarations.

        Errors: the first one in it.
        """


def check_program(
    out: Checked, program: decs.Program, files: Mapping[str, str], empty: Callable[[], Scope]
) -> None:
    """Check a program and, before it, its imports; `empty` makes a scope.

    Errors: as below.
    """
    check_imports(out, imports(program.decs), files, WholeFiles(out, files, empty))
    check_decs(out, program.decs)


def check_imports(
    out: Checked, wanted: Iterable[Import], files: Mapping[str, str], way: Way
) -> None:
    """Check imported files, each after its own imports.

    Errors: a file that is not among `files`, imports itself, or has errors.
    """
    for one in wanted:
        path, main = out.path_of(one), out.st.ctx.options.main
        _in_no_circle(one, path, [main, *out.importing] if main else out.importing)
        if path in out.imported:
            continue
        if path not in files:
            raise missing(one, path, files, main)
        inner = tuple(way.imports(path))
        out.importing.append(path)
        check_imports(out, inner, files, way)
        out.imported[path] = way.check_file(path, [out.path_of(each) for each in inner])
        out.importing.pop()


def _in_no_circle(one: Import, path: str, above: list[str]) -> None:
    """Reject cyclic imports: an import of one of the files `above`, which lead to it."""
    if path not in above:
        return
    if path == above[-1]:
        raise TypeError_(
            codes.files.CYCLE, f"`{path}` imports itself.", one.span, "Remove the import."
        )
    ring = [*above[above.index(path) :], path]
    raise TypeError_(
        codes.files.CYCLE,
        f"These files import each other: {' -> '.join(f'`{file}`' for file in ring)}.",
        one.span,
        "Move the definitions that both need to another file.",
    )


@dataclass(frozen=True, slots=True)
class WholeFiles:
    """Checks or recalls each file as a whole."""

    out: Checked
    texts: Mapping[str, str]
    empty: Callable[[], Scope]
    interfaces: dict[str, Interface] = field(default_factory=dict)

    def imports(self, path: str) -> Iterable[Import]:
        """See `Way`."""
        return imports(parsed(self.texts[path], path).decs)

    def check_file(self, path: str, direct: list[str]) -> Module:
        """See `Way`."""
        known, text = self.interfaces, self.texts[path]
        progress = Progress(self.out, path, text, {name: known[name] for name in direct})
        known[path], declared = progress.recall() or progress.done(self._declared(path))
        return declared

    def _declared(self, path: str) -> Module:
        """Check a file in a scope of its own and return its declarations."""
        out, st = self.out, self.out.st
        outer = (st.scope, st.own_types, st.declared_later, out.here)
        st.scope, st.own_types, st.declared_later = self.empty(), {}, {}
        out.here = ModuleBody(outer[-1].depth)
        check_decs(out, parsed(self.texts[path], path).decs)
        end_file(out, self.texts)
        declared = out.here.exported
        st.scope, st.own_types, st.declared_later, out.here = outer
        return declared


def end_file(out: Checked, texts: Mapping[str, str]) -> None:
    """Raise the first error of the file that is being checked, if there is one."""
    if out.errors:
        error = first_error(out.errors)
        hint = package_hint(out.importing[-1], texts)
        error.hint = " ".join(filter(None, (error.hint, hint)))
        raise error


def first_error(errors: list[CompileError]) -> CompileError:
    """Return the first error in the text, with the others attached."""
    ordered = sorted(errors, key=lambda e: e.span)
    first = ordered[0]
    first.others = tuple(ordered[1:])
    return first
