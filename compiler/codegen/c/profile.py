"""Instrument C: time of each kernel, copy and allocation of the host.

A run leaves nanoseconds and calls per section number in `ss_profile`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.spans import Prov
from compiler.base.text import Text
from compiler.codegen.c.hists import Kernels
from compiler.codegen.c.program import emit
from compiler.codegen.c.runtime import SECTIONS
from compiler.codegen.c.scalar import Scalars
from compiler.codegen.c.stms import Sites
from compiler.codegen.imp import nodes as imp


@dataclass(frozen=True, slots=True)
class Section:
    """A measured host statement, with its provenance."""

    kind: Literal["kernel", "copy", "allocation"]
    name: str
    prov: Prov


class _Measured(Kernels):
    """`Kernels` with a timer around each section."""

    def __init__(
        self, sections: list[Section], scalars: Scalars, sites: Sites, numbers: Iterator[int]
    ) -> None:
        super().__init__(scalars, sites, numbers)
        self.sections = sections
        self.inside = False

    def measured(self, section: Section, body: Callable[[], None]) -> None:
        """Print a statement between clock reads; nested sections are not measured apart."""
        if self.label is not None or self.inside or len(self.sections) == SECTIONS:
            body()
            return
        number = len(self.sections)
        self.sections.append(section)
        self.inside = True
        self.line(f"const int64_t ss_began_{number} = ss_now();")
        body()
        self.line(f"ss_spent({number}, ss_began_{number});")
        self.inside = False

    def run_kernel(self, kernel: imp.Kernel) -> None:
        """Measure a kernel."""
        body = partial(super().run_kernel, kernel)
        self.measured(Section("kernel", kernel.name, kernel.prov or self.src), body)

    def run_copy(self, stm: imp.Copy) -> None:
        """Measure a copy."""
        body = partial(super().run_copy, stm)
        self.measured(Section("copy", stm.dest, stm.prov or self.src), body)

    def run_alloc(self, stm: imp.Alloc) -> None:
        """Measure an allocation."""
        body = partial(super().run_alloc, stm)
        self.measured(Section("allocation", stm.name, stm.prov or self.src), body)


def emit_measured(prog: imp.ImpProg) -> tuple[Text, list[Section]]:
    """Return the instrumented C file of a program, and its sections by number."""
    sections: list[Section] = []
    return emit(prog, Ctx(), partial(_Measured, sections)), sections
