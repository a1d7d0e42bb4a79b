"""Translate the kernel IR to CUDA: kernels without headers, and the host program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain, count
from types import MappingProxyType

from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.remarks import Applied, Missed
from compiler.base.rules import Pass
from compiler.base.spans import Prov
from compiler.base.target import Target
from compiler.base.text import Line, Text, lines
from compiler.codegen.c.program import description
from compiler.codegen.cuda import runtime as cuda_runtime
from compiler.codegen.cuda.kernels import ATOMICS, DeviceCode
from compiler.codegen.cuda.scalar import CudaScalars
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels.failed_checks import after_checks
from compiler.codegen.kernels.host import Host
from compiler.codegen.kernels.narrow import NARROW, Narrowing, narrowing
from compiler.codegen.kernels.nodes import Launch
from compiler.codegen.kernels.read_only import READ_ONLY, read_only
from compiler.codegen.kernels.repeats import GRAPHS, Turning, block_rotation
from compiler.codegen.kernels.same_blocks import at_kernels
from compiler.ir.nodes import SE

HOST_MARK = "// ---- host program: Python over CUDA's driver ----"


def emit(prog: imp.ImpProg, ctx: Ctx, tuned: Mapping[Name, str] = MappingProxyType({})) -> Text:
    """Return kernels, then the host program after `HOST_MARK`.

    `tuned`: threshold comparisons by name that query the device; only a device that records
    launches answers.
    """
    scalars = CudaScalars()
    sites: list[tuple[Prov, tuple[str | SE, ...]]] = []
    kernels = DeviceCode(scalars, sites, count())
    kernels.numbered = {}
    looking = after_checks(prog)
    kernels.after_checks = looking.kernels
    kernels.constant = dict(_constant(prog, ctx))
    kernels.narrow = dict(_narrow(prog, ctx))
    most = {name: made.most for name, made in kernels.narrow.items()}

    def rounds(loop: imp.For) -> Turning | None:
        made = ctx.commit(GRAPHS, loop.prov, block_rotation(loop, ctx.names.called))
        for name in made.numbered if made else ():
            kernels.numbered[name] = loop.index
        return made

    host = Host(kernels.numbers, sites, kernels.launched, most, rounds, looking.loops)
    host.tuned = tuned
    host.line("from compiler.codegen.py_runtime import *")
    for applied in prog.applied:
        kernels.scalar_function(applied)
        host.scalar_function(applied)
    host.functions(prog)
    body = "\n".join(line.text for line in kernels.lines)
    index = (cuda_runtime.INDEX,) if kernels.narrow else ()
    rounds_in = (cuda_runtime.ROUNDS,) if kernels.numbered else ()
    head = [cuda_runtime.HEAD, *index, cuda_runtime.FAILURE, *rounds_in]
    helpers = (
        (cuda_runtime.AT_LAUNCH, cuda_runtime.SHARED),
        ("ss_bits(", cuda_runtime.BITS),
        ("Cells<", cuda_runtime.CELLS),
        ("half_", cuda_runtime.HALF),
    )
    for word, text in helpers:
        if word in body or any(word in h for h in scalars.helpers.values()):
            head.append(text)
    if scalars.helpers:
        head.append("".join(f"__device__ {text}\n" for text in scalars.helpers.values()))
    about = json.dumps(description(prog, sites) | {"kernels": host.kernels})
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


def _constant(prog: imp.ImpProg, ctx: Ctx) -> Iterator[tuple[str, frozenset[Name]]]:
    """Yield the read-only blocks of each kernel."""
    for fun in prog.funs:
        same = at_kernels(fun.body)
        for launch in statements(fun.body):
            if not isinstance(launch, Launch):
                continue
            kernel = launch.kernel
            free, others = read_only(kernel, same.get(id(launch)))
            if free:
                told = _named(free, ctx, "is only read", "are only read")
                because = (
                    f"In the kernel `{kernel.name}` {told}, so loads may be reordered and cached."
                )
                made = ctx.commit(READ_ONLY, kernel.prov, Applied(free, because))
                yield kernel.name, made or frozenset()
            if others:
                told = _named(others, ctx, "is", "are")
                because = f"In the kernel `{kernel.name}` {told} read, and may be what it writes."
                ctx.commit(READ_ONLY, kernel.prov, Missed(because))


def _narrow(prog: imp.ImpProg, ctx: Ctx) -> Iterator[tuple[str, Narrowing]]:
    """Yield the narrow names of each kernel."""
    for fun in prog.funs:
        for stm in statements(fun.body):
            if isinstance(stm, Launch):
                outcome = narrowing(stm, cuda_runtime.THREADS)
                made = ctx.commit(NARROW, stm.kernel.prov, outcome)
                if made is not None:
                    yield stm.kernel.name, made


def _named(blocks: frozenset[Name], ctx: Ctx, one: str, many: str) -> str:
    names = [f"`{ctx.names.called(name)}`" for name in sorted(blocks)]
    return f"{', '.join(names)} {one if len(names) == 1 else many}"


def widened(kernels: str) -> str:
    """Return kernels with 64-bit indices."""
    return kernels.replace(cuda_runtime.INDEX, cuda_runtime.WIDE_INDEX, 1)


def split(code: str) -> tuple[str, str]:
    """Split a text of `emit` into kernels and host program."""
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
PASSES = (Pass("cuda", "Writes CUDA.", emit, (READ_ONLY, NARROW, GRAPHS)),)
