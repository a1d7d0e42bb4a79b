"""The targets, one line each: a machine, the passes from IMP to its text, and what runs that.

A back end is a folder of `codegen/` and a line here. Stages, the command line, the worker and the
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
    """What another compiler makes of a target's text: `make(text)` is a `listings.Listed`.

    It raises UsageError where a tool is missing.
    """

    id: str
    title: str
    explain: str
    make: Callable[[Text], Any]


@dataclass(frozen=True, slots=True)
class BackEnd:
    """What makes text for a target and runs it; `title` says what and where.

    `missing()` says what this machine lacks for that, "" for nothing. If there is a `stand_in`, the
    reference interpreter runs the programs then, and the answer has that note. `sanitized`: as
    `run`, under sanitisers. `listings`: what other compilers make of the text.
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
                "What the C compiler makes of the C text for this machine, by its lines.",
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
                "What NVRTC makes of the kernels for any GPU, by the lines of the CUDA text.",
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
"""In the order in which they are offered. Without a choice it is the first."""

BY_ID = {one.target.id: one for one in BACK_ENDS}
LISTINGS = {made.id: (made, one.target) for one in BACK_ENDS for made in one.listings}
"""Each listing by its id, with the target of whose text it is made."""


def is_gpu(back_end: str) -> bool:
    """Whether neighbouring threads of a back end run in step; those of the interpreter do not."""
    return back_end in BY_ID and BY_ID[back_end].target.in_step


def target_named(name: str) -> Target:
    """The target with that id; of "" the machine that stages before all choices assume."""
    return BY_ID[name].target if name else Target()
