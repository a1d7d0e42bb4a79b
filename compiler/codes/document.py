"""The codes as text: a page of documentation, and what the command line tells of one."""

from __future__ import annotations

from compiler.base.code import Code
from compiler.codes import FAMILIES

_HEAD = """\
# Errors and warnings

Look up a message of the compiler by its code. A code keeps its meaning. `stridescope explain T001`
prints the explanation below, a server shows it at `/explain/T001`, and the page opens it from the
message.
`python -m compiler.codes` writes this file from `compiler/codes/`.
"""


def document() -> str:
    """Render the page with all codes, family by family."""
    parts = [_HEAD]
    for family in FAMILIES:
        parts.append(f"## {(family.__doc__ or '').strip().rstrip('.')}\n")
        own = [code for code in vars(family).values() if isinstance(code, Code)]
        parts += [_section(code) for code in own]
    return "\n".join(parts)


def _section(code: Code) -> str:
    programs = [(f"`{path}`, which both import", text) for path, text in code.files] + [
        ("Wrong", code.wrong),
        ("Fixed", code.mended),
    ]
    shown = [f"{what}:\n\n```futhark\n{text}\n```\n" for what, text in programs if text]
    return "\n".join([f"### {code.id}: {code.title}\n", f"{code.text}\n", *shown])


def explained(code: Code) -> str:
    """Render the explanation of a code for a terminal."""
    files = [f"{path}:\n\n{_indented(text)}\n" for path, text in code.files]
    both = [("Wrong", code.wrong), ("Fixed", code.mended)]
    programs = [f"{what}:\n\n{_indented(text)}\n" for what, text in both if text]
    return "\n".join([f"{code.id}: {code.title}\n", f"{code.text}\n", *files, *programs]).rstrip()


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
