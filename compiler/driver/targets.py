"""The targets, one entry each: a machine, the passes from IMP to its text, and its runner.

A back end is a folder of `codegen/` and an entry here. Stages, the command line, the worker and the
page read the list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.lazy import later
from compiler.base.rules import Pass
from compiler.base.target import Target
from compiler.base.text import Text
from compiler.codegen.c import program as c
from compiler.codegen.cuda import program as cuda

Run = Callable[..., Any]
"""`run(text, entry, values, seconds, runs=1)`: the `RunResult` of a text of ours."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Another compiler's output for a target's text: `make(text)` returns a `listings.Listed`.

    `make` raises UsageError where a tool is missing.
    """

    id: str
    title: str
    explain: str
    make: Callable[[Text], Any]


@dataclass(frozen=True, slots=True)
class BackEnd:
    """A back end: generates text for a target and runs it; `title` names both.

    `missing()` names what this machine lacks to run it, "" for nothing. If there is a `stand_in`,
    the reference interpreter runs the programs then, and the answer has that note. `sanitized`:
    like `run`, under sanitisers. `listings`: other compilers' output for the text.
    """

    target: Target
    passes: tuple[Pass, ...]
    title: str
    run: Run
    missing: Callable[[], str]
    _: KW_ONLY
    stand_in: str = ""
    sanitized: Run | None = None
    listings: tuple[Listing, ...] = ()


_NO_COMPILER = "No C compiler was found: the reference interpreter ran the program."
_RUNNER, _DEVICE = "compiler.runtime.runner", "compiler.runtime.device_process"
_LISTINGS = "compiler.runtime.listings"

BACK_ENDS: tuple[BackEnd, ...] = (
    BackEnd(
        c.TARGET,
        c.PASSES,
        "C, all cores",
        later(_RUNNER, "run_often"),
        later(_RUNNER, "why_not"),
        stand_in=_NO_COMPILER,
        sanitized=later(_RUNNER, "run_sanitized"),
        listings=(
            Listing(
                "asm",
                "Assembly",
                "The machine code that the C compiler generates from the C code on "
                "this machine, by lines of C.",
                later(_LISTINGS, "assembly"),
            ),
        ),
    ),
    BackEnd(
        cuda.TARGET,
        cuda.PASSES,
        "CUDA, this machine's GPU",
        later(_DEVICE, "run_cuda"),
        later(_DEVICE, "why_not"),
        listings=(
            Listing(
                "ptx",
                "PTX",
                "The PTX that NVRTC generates from the kernels, by lines of CUDA.",
                later(_LISTINGS, "ptx"),
            ),
            Listing(
                "sass",
                "SASS",
                "The instructions that a GPU runs, and the registers, shared memory and room that "
                "each kernel takes.",
                later(_LISTINGS, "sass"),
            ),
        ),
    ),
)
"""In the order in which they are offered; the first is the default."""

BY_ID = {one.target.id: one for one in BACK_ENDS}
LISTINGS = {made.id: (made, one.target) for one in BACK_ENDS for made in one.listings}
"""Each listing by its id, with the target of its text."""


def is_gpu(back_end: str) -> bool:
    """Return True if neighbouring threads of a back end run in lockstep (False for `ref`)."""
    return back_end in BY_ID and BY_ID[back_end].target.in_step


def target_named(name: str) -> Target:
    """Return the target with that id; for "" the machine that earlier stages assume."""
    return BY_ID[name].target if name else Target()
