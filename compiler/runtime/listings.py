"""Make listings of other compilers from a back end's text: assembly, PTX, SASS.

They are no stages, since no pass makes them: a listing is made on request. Lines that say nothing
to a reader are left out: directives, unused labels, padding. Instead each line of the text stands
above its instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug
from compiler.base.text import Line, Text, plain
from compiler.codegen.cuda.program import split
from compiler.codegen.cuda.runtime import THREADS
from compiler.runtime import cc, nvdisasm, nvrtc

LONGEST = 100
"""The longest shown line of the text, in characters."""


@dataclass(frozen=True, slots=True)
class KernelUse:
    """A kernel's use of a device: registers per thread, bytes per block of threads.

    `spilled`: bytes written for lack of registers. `blocks`: how many blocks of `THREADS` threads,
    the most that any has, fit on a multiprocessor; `occupancy` is the part of its warps that they
    fill.
    """

    kernel: str
    instructions: int
    registers: int
    spilled: int
    shared: int
    blocks: int
    occupancy: float


@dataclass(frozen=True, slots=True)
class Listed:
    """A listing; `kernels` for machine code of a device."""

    text: Text
    kernels: tuple[KernelUse, ...] = ()


# --- a C text -----------------------------------------------------------------------------------

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"(<stdin>|-)"')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)(?:.*inlined_at\s+\d+\s+(\d+))?")
_SECTION = re.compile(r"\s*\.(?:section\s+([^\s,]+)|(text|data|bss)\b)")
_LABEL = re.compile(r"([\w.$]+):")
_DATA = re.compile(r"\.(?:byte|value|short|long|quad|zero|string|asciz?|[248]byte)\b")


def assembly(text: Text) -> Listed:
    """Compile a C program to assembly for this machine."""
    said = cc.assembly(plain(text)).split("\n")
    compiler = cc.find_compiler()
    name = (compiler.version.splitlines() or [Path(compiler.command[0]).name])[0]
    flags = " ".join(flag for flag in compiler.flags if flag.startswith(("-O", "-m", "-f")))
    head = [Line(f"# {name}"), Line(f"# {flags}"), Line("")]
    return Listed((*head, *_beside(text, _instructions(said), "#")))


Piece = tuple[int, str]
"""A line of a listing, and its line number in the text: 0 for none."""


def _instructions(said: list[str]) -> Iterator[Piece]:
    """Yield instructions and data, with labels that are used or name functions."""
    ours = {found[1] for line in said if (found := _FILE.match(line))}
    kept: list[Piece] = []
    at, skips = 0, False
    for line in said:
        if place := _LOC.match(line):
            at = int(place[2]) if place[1] in ours else at
        elif section := _SECTION.match(line):
            skips = (section[1] or "").startswith((".debug", ".note", ".comment", ".eh_frame"))
        elif not skips and (_LABEL.match(line) or _is_told(line.strip())):
            kept.append((at, line.expandtabs(8).rstrip()))
    named = set(re.findall(r"[\w.$]+", "\n".join(t for _, t in kept if not _LABEL.match(t))))
    for at, line in kept:
        label = _LABEL.match(line)
        if label is None:
            yield at, f"    {' '.join(line.split())}"
        elif label[1] in named or not label[1].startswith("."):
            yield 0 if line[0] != "." else at, line


def _is_told(line: str) -> bool:
    return bool(line) and not line.startswith("#") and (line[0] != "." or bool(_DATA.match(line)))


# --- a CUDA text --------------------------------------------------------------------------------

_KERNEL = re.compile(r"__global__ void (\w+)\(")
_INLINED = re.compile(r'\s*//## File "[^"]*", line (\d+)(?: inlined at "[^"]*", line (\d+))?')
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]+)\*/\s+(.*\S)")
_CODE = re.compile(r"\s*\.section\s+\.text\.(\S+?),")


def ptx(text: Text) -> Listed:
    """Compile the kernels to PTX with NVRTC."""
    made, _ = nvrtc.with_lines(_kernels(text), "PTX")
    return Listed(
        (*_head(text, ()), *_beside(text, _ptx(made.rstrip(b"\0").decode().split("\n")), "//"))
    )


def _ptx(said: list[str]) -> Iterator[Piece]:
    at = 0
    for line in said:
        if place := _LOC.match(line):
            at = int(place[3] or place[2])
        elif line.lstrip().startswith(".file"):
            return
        elif line.strip() and not line.lstrip().startswith("//"):
            bare = line.expandtabs(4).rstrip()
            if bare[0] == "." or bare == ")":
                at = 0
            yield at, bare


def sass(text: Text) -> Listed:
    """Compile the kernels to SASS, with the resources of each."""
    tool = nvdisasm.find()
    made, log = nvrtc.with_lines(_kernels(text), "CUBIN")
    code = _functions(nvdisasm.instructions(made, tool).split("\n"))
    order = _KERNEL.findall(plain(text))
    names = [*(n for n in order if n in code), *(n for n in code if n not in order)]
    kernels = tuple(_use(name, code[name], log) for name in names if name in order)
    pieces = (piece for name in names for piece in ((0, f"{name}:"), *code[name]))
    return Listed((*_head(text, kernels), *_beside(text, pieces, "//")), kernels)


def _kernels(text: Text) -> str:
    return split(plain(text))[0]


def _functions(said: list[str]) -> dict[str, list[Piece]]:
    """Split nvdisasm's output into instructions and labels by function."""
    found: dict[str, list[Piece]] = {}
    into: list[Piece] = []
    at = 0
    for line in said:
        if section := _CODE.match(line):
            into, at = found.setdefault(section[1], []), 0
        elif place := _INLINED.match(line):
            at = int(place[2] or place[1])
        elif (code := _INSTRUCTION.match(line)) and not code[2].startswith("NOP"):
            into.append((at, f"    {code[1]}  {code[2].rstrip(' ;')}"))
        elif line.startswith((".L_", "$")):
            into.append((at, line.rstrip()))
    for pieces in found.values():
        named = set(re.findall(r"\.L_\w+", "\n".join(t for _, t in pieces if t[0] == " ")))
        pieces[:] = [piece for piece in pieces if piece[1][0] != "." or piece[1][:-1] in named]
    return found


_NEEDS = (
    r"Function properties for {0}\n.*?(\d+) bytes spill stores(?s:.*?)Used (\d+) registers"
    r"(?:.*?(\d+) bytes smem)?"
)
REGISTERS, SHARED, WARPS, BLOCKS = 65_536, 233_472, 64, 32
"""Resources of a multiprocessor of compute capability 9.0; shared memory in bytes."""
RESERVED = 1_024
"""Bytes of shared memory that the device reserves per block of threads."""


def _use(kernel: str, code: list[Piece], log: str) -> KernelUse:
    """Read a kernel's resources from NVRTC's log, and compute its occupancy."""
    found = re.search(_NEEDS.format(re.escape(kernel)), log)
    if found is None:
        raise CompilerBug(f"NVRTC does not report the resources of the kernel {kernel}.")
    spilled, registers, shared = (int(n or 0) for n in found.groups())
    blocks = blocks_at_once(registers, shared)
    instructions = sum(text[0] == " " for _, text in code)
    part = blocks * THREADS / 32 / WARPS
    return KernelUse(kernel, instructions, registers, spilled, shared, blocks, part)


def blocks_at_once(registers: int, shared: int) -> int:
    """Compute the resident blocks of threads per multiprocessor from registers and shared memory.

    Registers are allocated per warp in units of 256, on four schedulers; shared memory per block in
    units of 128 bytes.
    """
    warps = THREADS // 32
    of_warp = -(-max(registers, 1) * 32 // 256) * 256
    by_registers = REGISTERS // of_warp // 4 * 4 // warps
    by_shared = SHARED // (-(-(shared + RESERVED) // 128) * 128)
    return min(by_registers, by_shared, WARPS // warps, BLOCKS)


def _head(text: Text, kernels: tuple[KernelUse, ...]) -> Iterator[Line]:
    """Yield the compiler's version and options, and a table of kernels' resources."""
    version = ".".join(map(str, nvrtc.version()))
    options = " ".join(nvrtc.options())
    yield Line(f"// NVRTC {version} for {nvrtc.DEFAULT_ARCH}, {options}")
    yield Line("")
    if not kernels:
        return
    rows: list[tuple[str, ...]] = [
        ("kernel", "instr", "regs", "spilled", "shared", "blocks", "occup")
    ]
    for use in kernels:
        told = (use.instructions, use.registers, f"{use.spilled} B", f"{use.shared} B", use.blocks)
        rows.append((use.kernel, *map(str, told), f"{use.occupancy:.0%}"))
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    for name, *cells in rows:
        padded = (f"{cell:>{wide}}" for cell, wide in zip(cells, others, strict=True))
        yield Line(f"// {name:{first}}  {'  '.join(padded)}")
    yield Line("")


# --- beside the lines of the text ---------------------------------------------------------------


def _beside(text: Text, pieces: Iterable[Piece], comment: str) -> Iterator[Line]:
    """Yield each line of a listing, under the line of the text that it comes from."""
    before = 0
    for at, piece in pieces:
        origin = text[at - 1] if 0 < at <= len(text) else Line("")
        if at and at != before and origin.text.strip():
            shown = origin.text.strip()
            cut = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} .."
            yield Line(f"    {comment} {at}: {cut}", origin.src, origin.node)
        if at or piece[0] != ".":
            before = at
        yield Line(piece, origin.src, origin.node)
