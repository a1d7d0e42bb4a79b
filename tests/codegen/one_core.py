"""A back end of a few lines: C for one core, whose kernels are what they mean, loops in sequence.

`test_back_end.py` adds it to the list of targets, as anybody would who writes one.
"""

from __future__ import annotations

from functools import partial

from compiler.base.rules import Pass
from compiler.base.target import Target
from compiler.codegen.c.kernels import MapKernels
from compiler.codegen.c.program import emit
from compiler.codegen.imp.nodes import For, Kernel
from compiler.codegen.sequential import sequential
from compiler.codegen.traits import traits_of
from compiler.driver.targets import BackEnd
from compiler.runtime import runner


class OneCore(MapKernels):
    """Prints kernels as loops."""

    def run_kernel(self, kernel: Kernel) -> None:
        """All points in order; a failed check leaves them."""
        if self.label is not None:
            super().run_kernel(kernel)
            return
        body = sequential(kernel)
        self.open("{ // " + kernel.name)
        self.body(body, traits_of(body))
        self.line("if (ss_failed) return 1;")
        self.close()

    def loop_pragma(self, stm: For) -> str:
        """Nothing runs side by side."""
        return ""


TARGET = Target("one-core", "C for one core", "Kernels as loops in sequence.", "one core")
PASSES = (Pass("one-core", "Writes C for one core.", partial(emit, printer=OneCore)),)
RUN = partial(runner.run_c, settings=runner.Settings(cores=1))
BACK_END = BackEnd(TARGET, PASSES, "C, one core", RUN, runner.why_not)
