"""A program of several files: each is checked once, after those that it imports.

A file sees the prelude and what it imports, and gives to others what it declares without `local`.
An error in a file ends the check, so that it is not told of those that import it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from compiler.base.errors import CompileError, TypeError_
from compiler.frontend import decs
from compiler.frontend.check.kept import Progress
from compiler.frontend.check.missing import missing, package_hint
from compiler.frontend.check.program import Checked, check_decs
from compiler.frontend.check.scope.scope import Module, Scope
from compiler.frontend.files import Import, imports, in_order, parsed


def check_program(
    out: Checked, program: decs.Program, files: Mapping[str, str], empty: Callable[[], Scope]
) -> None:
    """Check a program, and before it the files that it imports; `empty` makes a scope for one.

    Errors: a file that is not among `files`, imports itself, or has errors.
    """
    progress = Progress(out, in_order(program, files, out.st.ctx.options.main))
    _check(_Files(out, files, empty, progress), program)


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a program that is being checked."""

    out: Checked
    texts: Mapping[str, str]
    empty: Callable[[], Scope]
    progress: Progress


def _check(all_files: _Files, program: decs.Program) -> None:
    for one in imports(program.decs):
        _import(all_files, one)
    check_decs(all_files.out, program.decs)


def _import(all_files: _Files, one: Import) -> None:
    out, files = all_files.out, all_files.texts
    path, main = out.path_of(one), out.st.ctx.options.main
    above = [main, *out.importing] if main else out.importing
    if path in above:
        if path == above[-1]:
            raise TypeError_(f"`{path}` imports itself.", one.span, "Leave the import out.")
        ring = [*above[above.index(path) :], path]
        raise TypeError_(
            f"These files import each other: {' -> '.join(f'`{file}`' for file in ring)}.",
            one.span,
            "Move what both of them need to a file of its own.",
        )
    if path in out.imported:
        return
    if path not in files:
        raise missing(one, path, files, main)
    program = parsed(files[path], path)
    st = out.st
    outer = (st.scope, st.own_types, st.declared_later, out.own, out.exported)
    st.scope, st.own_types, st.declared_later, out.own, out.exported = (
        all_files.empty(), set(), {}, set(), Module(),
    )  # fmt: skip
    out.importing.append(path)
    _check(all_files, program)
    if out.errors:
        error = first_error(out.errors)
        error.hint = " ".join(filter(None, (error.hint, package_hint(path, files))))
        raise error
    out.importing.pop()
    out.imported[path] = out.exported
    st.scope, st.own_types, st.declared_later, out.own, out.exported = outer
    all_files.progress.file_done()


def first_error(errors: list[CompileError]) -> CompileError:
    """The first error in the text, with the others attached."""
    ordered = sorted(errors, key=lambda e: e.span)
    first = ordered[0]
    first.others = tuple(ordered[1:])
    return first
