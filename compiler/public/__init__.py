"""Stridescope as a library: compile, check, run and prove from Python.

    >>> import stridescope
    >>> program = stridescope.compile("entry main [n] (xs: [n]i32) = map (+ 1) xs")
    >>> program.main([1, 2, 3])
    array([2, 3, 4], dtype=int32)

Arrays on a GPU, such as those of CuPy and PyTorch, are used in place, without copies. In a
notebook, `%load_ext stridescope` brings the magic `%%stridescope`.

The names here are the public interface, stable within a major version. Everything else of the
package is private. Importing it costs nothing: the compiler is imported by the first call. All
functions raise `Error`, with a place and a way out, for an invalid program or an argument.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.public.library import (
        CheckedProgram,
        CompiledProgram,
        EntryDescription,
        EntryPoint,
        Error,
        StageDescription,
        Value,
        Verdict,
        check,
        compile,
        prove,
        run,
        stages,
    )

__all__ = [
    "CheckedProgram",
    "CompiledProgram",
    "EntryDescription",
    "EntryPoint",
    "Error",
    "StageDescription",
    "Value",
    "Verdict",
    "check",
    "compile",
    "prove",
    "run",
    "stages",
]


def load_ipython_extension(shell: Any) -> None:
    """Add the magic `%%stridescope` to a notebook; called by `%load_ext stridescope`."""
    import_module(f"{__name__}.magic").add_to(shell)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.library"), name)


def __dir__() -> list[str]:
    return __all__
