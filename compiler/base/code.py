"""The codes of errors and warnings, each with its explanation."""

from __future__ import annotations

from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of error or warning, named where it is raised, declared in `compiler/codes/`."""

    id: str
    """A letter for the subject and three digits; its meaning never changes."""
    title: str
    text: str
    """Explanation: the mistake, its reason, and the way out."""
    wrong: str = ""
    """A program that raises the error; empty where it takes more than a program."""
    mended: str = ""
    files: tuple[tuple[str, str], ...] = ()
    """Paths and texts of the files that both programs may import."""
    main: str = ""
    """The path of both programs, where its suffix decides the language."""
