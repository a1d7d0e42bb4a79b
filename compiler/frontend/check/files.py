"""A program of several files: each is checked once, after those that it imports.

A file sees the prelude and what it imports, and gives to others what it declares without `local`.
An error in a file ends the check, so that it is not told of those that import it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from compiler import codes
from compiler.base.errors import CompileError, TypeError_
from compiler.frontend import decs
from compiler.frontend.check.kept import Interface, Progress
from compiler.frontend.check.missing import missing, package_hint
from compiler.frontend.check.program import Checked, check_decs
from compiler.frontend.check.scope.scope import Module, Scope
from compiler.frontend.files import Import, imports, parsed


def check_program(
    out: Checked, program: decs.Program, files: Mapping[str, str], empty: Callable[[], Scope]
) -> None:
    """Check a program, and before it the files that it imports. Arguments as below."""
    check_imports(out, program, files, empty)
    check_decs(out, program.decs)


def check_imports(
    out: Checked, program: decs.Program, files: Mapping[str, str], empty: Callable[[], Scope]
) -> None:
    """Check the files that a program imports; `empty` makes a scope for one.

    Errors: a file that is not among `files`, imports itself, or has errors.
    """
    all_files = _Files(out, files, empty)
    for one in imports(program.decs):
        _import(all_files, one)


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a program that is being checked."""

    out: Checked
    texts: Mapping[str, str]
    empty: Callable[[], Scope]
    interfaces: dict[str, Interface] = field(default_factory=dict)


def _import(all_files: _Files, one: Import) -> None:
    out, files = all_files.out, all_files.texts
    path, main = out.path_of(one), out.st.ctx.options.main
    above = [main, *out.importing] if main else out.importing
    if path in above:
        if path == above[-1]:
            raise TypeError_(
                codes.files.CYCLE, f"`{path}` imports itself.", one.span, "Leave the import out."
            )
        ring = [*above[above.index(path) :], path]
        raise TypeError_(
            codes.files.CYCLE,
            f"These files import each other: {' -> '.join(f'`{file}`' for file in ring)}.",
            one.span,
            "Move what both of them need to a file of its own.",
        )
    if path in out.imported:
        return
    if path not in files:
        raise missing(one, path, files, main)
    program = parsed(files[path], path)
    out.importing.append(path)
    for inner in imports(program.decs):
        _import(all_files, inner)
    known = all_files.interfaces
    direct = [out.path_of(inner) for inner in imports(program.decs)]
    progress = Progress(out, path, files[path], {name: known[name] for name in direct})
    known[path] = progress.recall() or progress.done(_declared(all_files, program))
    out.importing.pop()


def _declared(all_files: _Files, program: decs.Program) -> Module:
    """What a file declares, in a scope of its own.

    Errors: the first one in it.
    """
    out, st = all_files.out, all_files.out.st
    outer = (st.scope, st.own_types, st.declared_later, out.own, out.exported)
    st.scope, st.own_types, st.declared_later, out.own, out.exported = (
        all_files.empty(), {}, {}, {}, Module(),
    )  # fmt: skip
    check_decs(out, program.decs)
    if out.errors:
        error = first_error(out.errors)
        hint = package_hint(out.importing[-1], all_files.texts)
        error.hint = " ".join(filter(None, (error.hint, hint)))
        raise error
    declared = out.exported
    st.scope, st.own_types, st.declared_later, out.own, out.exported = outer
    return declared


def first_error(errors: list[CompileError]) -> CompileError:
    """The first error in the text, with the others attached."""
    ordered = sorted(errors, key=lambda e: e.span)
    first = ordered[0]
    first.others = tuple(ordered[1:])
    return first
