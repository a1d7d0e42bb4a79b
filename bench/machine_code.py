"""Report the use of a GPU by kernels, without one: `python -m bench.machine_code FILE..`.

Each program is compiled to machine code for a GPU. A line says how many kernels it has, the most
registers of a thread, what is spilled, and which launches have work for one thread only. A program
is compiled by a process of its own, which may take 150 s and 3 GiB.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.machine import words
from compiler.base.context import Options
from compiler.base.errors import CompileError
from compiler.base.stack import with_deep_stack
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import host_stms, statements
from compiler.codegen.kernels import nodes as k
from compiler.driver.disk import read_program
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import ONE
from compiler.runtime import listings

SECONDS, BYTES = 150, 3 << 30
MOST_REGISTERS = 64


def alone(prog: imp.ImpProg) -> Iterator[tuple[str, bool]]:
    """The launches that are for one thread, and whether that has a loop."""
    for fun in prog.funs:
        for stm in host_stms(fun.body):
            if not isinstance(stm, k.Launch) or stm.count != ONE or stm.times:
                continue
            body = statements(stm.kernel.body)
            if stm.unit == "points" or stm.kernel.name.startswith("numbers_"):
                yield stm.kernel.name, any(isinstance(s, imp.For | imp.While) for s in body)


def line(path: Path) -> str:
    """Return the line about a program."""
    try:
        program = read_program(path)
        options = Options(target="cuda", files=tuple(program.files.items()), main=program.main)
        work = Compilation(program.source, options)
        made = listings.sass(work.result("cuda").text).kernels
    except CompileError as error:
        return f"no machine code: {error.kind}: {error.message}"
    many = [f"`{use.kernel}` {use.registers}" for use in made if use.registers > MOST_REGISTERS]
    spilled = [f"`{use.kernel}` {use.spilled} B" for use in made if use.spilled]
    loops = [name for name, loop in alone(work.result("kernels").prog) if loop]
    told = [f"{len(made)} kernels, {max((use.registers for use in made), default=0)} registers"]
    told += [f"above {MOST_REGISTERS}: {', '.join(many)}"] if many else []
    told += [f"spilled: {', '.join(spilled)}"] if spilled else []
    told += [f"one thread has a loop: {', '.join(loops)}"] if loops else []
    return "; ".join(told)


def main() -> None:
    """Print a line for each program, or the one line of the last option."""
    if sys.argv[1:2] == ["--one"]:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        with_deep_stack(lambda: print(line(Path(sys.argv[2]))))
        return
    for path in words(__doc__, "FILE"):
        command = [sys.executable, "-m", "bench.machine_code", "--one", path]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            told = done.stdout.strip() or f"no machine code: {done.stderr.strip()[-100:]}"
        except subprocess.TimeoutExpired:
            told = f"no machine code: it takes more than {SECONDS} s"
        print(f"{path}: {told}", flush=True)


if __name__ == "__main__":
    main()
