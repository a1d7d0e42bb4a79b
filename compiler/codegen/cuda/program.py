"""The kernel IR to CUDA: kernels without headers, and the host program that launches them."""

from __future__ import annotations

import json
from itertools import chain, count

from compiler.base.context import Ctx
from compiler.base.rules import Pass
from compiler.base.spans import Prov
from compiler.base.target import Target
from compiler.base.text import Line, Text, lines
from compiler.codegen.c.program import description
from compiler.codegen.cuda import runtime as cuda_runtime
from compiler.codegen.cuda.kernels import ATOMICS, DeviceCode
from compiler.codegen.cuda.scalar import CudaScalars
from compiler.codegen.imp.nodes import ImpProg
from compiler.codegen.kernels.host import Host
from compiler.ir.nodes import SE

HOST_MARK = "// ---- host program: Python over CUDA's driver ----"


def emit(prog: ImpProg, ctx: Ctx) -> Text:
    """Kernels, then the host program after `HOST_MARK`."""
    scalars = CudaScalars()
    sites: list[tuple[Prov, tuple[str | SE, ...]]] = []
    kernels = DeviceCode(scalars, sites, count())
    host = Host(kernels.numbers, sites, kernels.launched)
    host.line("import numpy as np")
    host.line("from compiler.codegen.py_runtime import *")
    for fun in prog.funs:
        host.function(fun)
    body = "\n".join(line.text for line in kernels.lines)
    head = [cuda_runtime.HEAD, cuda_runtime.FAILURE]
    for word, text in (("ss_bits(", cuda_runtime.BITS), ("half_", cuda_runtime.HALF)):
        if word in body or any(word in h for h in scalars.helpers.values()):
            head.append(text)
    if scalars.helpers:
        head.append("".join(f"__device__ {text}\n" for text in scalars.helpers.values()))
    about = json.dumps(description(prog, sites))
    ctx.records["cuda"] = [prov for prov, _ in sites]
    return (
        *chain.from_iterable(map(lines, head)),
        *kernels.lines,
        Line(""),
        Line(HOST_MARK),
        *host.lines,
        Line(""),
        Line("ABOUT = ("),
        *(Line(f"    {about[at : at + 90]!r}") for at in range(0, len(about), 90)),
        Line(")"),
    )


def split(code: str) -> tuple[str, str]:
    """Kernels and host program of a text that `emit` made."""
    kernels, _, host = code.partition(HOST_MARK)
    return kernels, host


TARGET = Target(
    "cuda",
    "CUDA",
    "CUDA kernels, and the host program that launches them.",
    "GPU",
    saturation=1 << 15,
    warp=32,
    most_threads=1024,
    threads=cuda_runtime.THREADS,
    shared_bytes=48 << 10,
    atomics=ATOMICS,
    allocates_in_kernels=False,
)
PASSES = (Pass("cuda", "Writes CUDA.", emit),)
