"""Policies: the rights of each kind of process.

All have no network and a clean environment. A process of every kind: no network, a clean
environment.

| policy | its process | files | programs |
|---|---|---|---|
| COMPILE | a worker that compiles, NVRTC | Python, the compiler; its scratch | none, threads only |
| RUN | a worker that starts runs | the same, and the C compiler | the C compiler, runs |
| DISASSEMBLE | nvdisasm | the same | nvdisasm |
| RUN_ON_DEVICE | the same with a GPU | the same, and the GPU's files | the C compiler, runs |
| PROGRAM | one run of a compiled program | none (the library is open) | none, threads only |
| OBSERVE | one run of kernels on the processor | Python, the compiler | none, threads only |
| DEVICE | runs on one GPU | Python, the GPU's files; scratch | none, threads only |
"""

from __future__ import annotations

from dataclasses import replace

from compiler.base.dataclass import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Policy:
    """The rights of one kind of process; sizes in bytes.

    `scratch_bytes` holds for the whole folder under bubblewrap, and elsewhere for each file in it.
    """

    name: str
    starts_programs: bool = False
    devices: bool = False
    scratch_bytes: int = 256 * MIB
    processes: int = 64
    files: int = 256
    reads: tuple[str, ...] = ()
    """Files and folders that it may read, beside Python and the compiler."""


COMPILE = Policy("compile")
RUN = Policy("run", starts_programs=True, scratch_bytes=1024 * MIB, processes=256)
DISASSEMBLE = Policy("disassemble", starts_programs=True)
RUN_ON_DEVICE = replace(RUN, name="run on device", devices=True, files=1024)
PROGRAM = Policy("program", scratch_bytes=0, files=64)
OBSERVE = Policy("observe", files=64)
DEVICE = Policy("device", devices=True, scratch_bytes=2048 * MIB, processes=256, files=1024)
