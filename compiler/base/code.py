"""What an error or a warning is called: a code that stays, with what can be read about it."""

from __future__ import annotations

from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of mistake, named where it is raised; `compiler/codes/` declares all of them."""

    id: str
    """A letter for the subject and three digits; given once, it never means anything else."""
    title: str
    text: str
    """What is wrong there, why that is so, and what to do."""
    wrong: str = ""
    """A program that raises it; empty where more than a program is needed for that."""
    mended: str = ""
    files: tuple[tuple[str, str], ...] = ()
    """What both programs may import: paths and texts."""
    main: str = ""
    """The path of both programs, where that says their language."""
