"""Make all measurements that need a GPU in one command, which takes some minutes.

    python -m bench.device [PART..]

The parts: `results` against the interpreter, also with scans in one pass; `times` against a plain
copy, and Futhark's where it is on the PATH; `subnormals`; `graphs`, what loops of launches take
with and without; `arrays`, those of CuPy and others, and what a call costs; `drills`, what becomes
of a hang, of too large an array, and of three workers at a time; `sanitizers` and `sectors` by
NVIDIA's tools where they are; `libraries`, the tasks of `bench.libraries` beside them. A part that
fails says why, and the others go on. Writes `bench/results/device.json` and the part about devices
of `docs/performance.md`. Without a GPU it says why, and its exit status is 69.
"""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from bench import accesses, libraries
from bench.device_arrays import arrays
from bench.futhark import Program, compiled
from bench.machine import ROOT, UNAVAILABLE, save, words
from compiler.base.context import Options
from compiler.base.errors import CompileError
from compiler.base.text import plain
from compiler.codegen.cuda.program import split
from compiler.driver.pipeline import Compilation
from compiler.ir import random_values
from compiler.runtime import cuda_device, device_process
from compiler.runtime.cuda_device import Device, about, run_on
from compiler.runtime.device_process import GPUS, Toolkit, run_cuda
from compiler.runtime.open_devices import gpus
from compiler.semantics import interp
from compiler.testing.compare import same

RUNS = 11
LAUNCHES = 2000
TITLE = "## On a device"
DOCUMENT = ROOT / "docs" / "performance.md"
COPY = "entry main [n] (xs: [n]f32): [n]f32 = copy xs"
ENDLESS = "entry main [n] (xs: [n]i32) = map (\\x -> loop y = x while y >= 0 do y ^ 1) xs"
HALVES = "entry main [n] (xs: [n]f32): [n]f32 = map (* 0.5) xs"
ARRAY = "entry main (n: i64) = iota n"
ROUNDS = (
    "entry main [n] (k: i64) (xs: [n]f32): [n]f32 ="
    " loop xs for _i < k do map2 (\\a b -> 0.5 * (a + b)) xs (rotate 1 xs)"
)
"""A loop of launches, each of them short: what asking for them costs is what is seen."""
LARGE = {
    "row sums": {"n": 100_000, "m": 500},
    "row scans": {"n": 50_000, "m": 500},
    "softmax of rows": {"n": 50_000, "m": 500},
    "column sums": {"n": 100_000, "m": 500},
    "transposition": {"n": 8_000, "m": 6_000},
    "matrix multiplication": {"n": 2_000, "m": 2_000, "p": 2_000},
    "histogram of 256": {"n": 50_000_000},
    "scan": {"n": 50_000_000},
    "sum": {"n": 100_000_000},
}
COPIED = 100_000_000
"""Floats of the plain copy."""
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
AT_ONCE = 6
"""Runs under a sanitizer, each with a process of its own."""
METRICS = tuple(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st"))


def code_of(source: str, look_back: bool = False) -> str:
    """The CUDA text of a program."""
    options = Options(target="cuda", enabled=frozenset(["kernels/look-back"] * look_back))
    return plain(Compilation(source, options).result("cuda").text)


def given(source: str, sizes: dict[str, int]) -> list[Any]:
    """Inputs of such sizes, the same each time."""
    fun = next(f for f in Compilation(source).result("soa").prog.funs if f.name == "main")
    return list(random_values.inputs(fun, sizes, 1).values)


def moved(values: list[Any]) -> int:
    """Bytes of arrays and numbers."""
    return sum(np.asarray(v).nbytes for v in values)


def results(toolkit: Toolkit) -> dict[str, str]:
    """Compare each program with the interpreter, look-back scans too; "" where they agree."""
    found = {}
    for name, (source, sizes) in accesses.PROGRAMS.items():
        args = given(source, sizes)
        expected = interp.run(Compilation(source).result("soa").prog, "main", list(args))
        texts = {name: code_of(source), f"{name}, by look-back": code_of(source, look_back=True)}
        for version, text in texts.items():
            if version != name and text == texts[name]:
                continue
            try:
                done = run_cuda(text, "main", args, toolkit=toolkit).values
            except CompileError as error:
                found[version] = error.message
            else:
                found[version] = "" if same(done, expected) else "gives other results"
    return found


def times(
    toolkit: Toolkit, large: dict[str, dict[str, int]], copied: int, futhark: bool
) -> dict[str, Any]:
    """Return each program's median time, and its bandwidth relative to a plain copy's."""
    found: dict[str, Any] = {}
    copy = 0.0
    for name, source, sizes in (
        ("copy", COPY, {"n": copied}),
        *((name, accesses.PROGRAMS[name][0], sizes) for name, sizes in large.items()),
    ):
        args = given(source, sizes)
        done = run_cuda(code_of(source), "main", args, 300.0, RUNS, toolkit)
        ms = float(np.median(done.times[1:]))
        speed = (moved(args) + moved(done.values)) / ms / 1e6
        copy = copy or speed
        found[name] = {"sizes": sizes, "ms": ms, "gb_s": speed, "of_copy": speed / copy}
        found[name] |= {"peak_bytes": done.peak_bytes, "compile_ms": done.compile_ms}
        if futhark:
            with tempfile.TemporaryDirectory() as folder:
                other = compiled("cuda", Program(name, source), Path(folder))
                other = other.checked(args, done.values)
                ran = other.binary is not None
                found[name]["futhark_ms"] = (
                    float(np.median(other.times(args, RUNS))) if ran else other.problem
                )
    return found


def graphs(toolkit: Toolkit) -> dict[str, Any]:
    """Milliseconds of a loop of launches with the graphs that it becomes, and without."""
    code, found = code_of(ROUNDS), {}
    args = [np.int64(LAUNCHES), np.linspace(0, 1, 4096, dtype=np.float32)]
    kept = cuda_device.MAKING
    for name, making in {"graphs_ms": kept, "launches_ms": 1 << 60}.items():
        cuda_device.MAKING = making
        try:
            found[name] = float(np.median(here(toolkit, code, args, RUNS)[1:]))
        finally:
            cuda_device.MAKING = kept
    return {"rounds": LAUNCHES, **found}


def subnormals(toolkit: Toolkit) -> str:
    """Return "" if subnormal numbers are kept, else what becomes of them."""
    xs = np.array([1e-38, 3e-39, 1e-45, -2e-40], np.float32)
    (ys,) = run_cuda(code_of(HALVES), "main", [xs], toolkit=toolkit).values
    return "" if np.array_equal(ys, xs * np.float32(0.5)) else f"halves of {xs} are {ys}"


# --- NVIDIA's tools, over `--inside` ------------------------------------------------------------


def inside(toolkit: Toolkit, name: str) -> None:
    """Run a program in this process, where a tool can watch it."""
    source, sizes = accesses.PROGRAMS[name]
    here(toolkit, code_of(source), given(source, sizes))


def here(toolkit: Toolkit, code: str, args: list[Any], runs: int = 1) -> tuple[float, ...]:
    """Milliseconds of runs in this process, where a tool can watch it."""
    found = gpus(str(toolkit.driver or ""), own=True)
    gpu = found.open()
    image = toolkit.image(split(code)[0], gpu.capability, found.version).read_bytes()
    device = Device(gpu, image, about(code), gpu.free_bytes())
    try:
        return run_on(device, code, "main", args, runs).times
    finally:
        device.close()


def _under(*command: str) -> subprocess.CompletedProcess[str]:
    own = (sys.executable, "-m", "bench.device", "--inside")
    return subprocess.run(
        [*command[:-1], *own, command[-1]], cwd=ROOT, capture_output=True, text=True, timeout=600
    )


def sanitizers() -> dict[str, Any]:
    """The programs in which each tool finds something, with the end of what it says."""
    if shutil.which("compute-sanitizer") is None:
        return {"absent": "there is no compute-sanitizer on the PATH"}
    asked = [(tool, name) for tool in TOOLS for name in accesses.PROGRAMS]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        told = list(pool.map(lambda one: _complaint(*one), asked))
    found: dict[str, Any] = {tool: {} for tool in TOOLS}
    for (tool, name), said in zip(asked, told, strict=True):
        if said:
            found[tool][name] = said
    return found


def _complaint(tool: str, name: str) -> str:
    """The end of what a tool says of a program in which it finds something, else ""."""
    done = _under("compute-sanitizer", "--tool", tool, "--error-exitcode", "9", name)
    return (done.stdout + done.stderr)[-500:] if done.returncode else ""


def sectors() -> dict[str, Any]:
    """The sectors of each program's loads and stores, by the profiler, beside the observer's."""
    if shutil.which("ncu") is None:
        return {"absent": "there is no ncu on the PATH"}
    found: dict[str, Any] = {}
    for name, (source, sizes) in accesses.PROGRAMS.items():
        done = _under("ncu", "--csv", "--metrics", ",".join(METRICS), name)
        if done.returncode:
            found[name] = {"problem": (done.stdout + done.stderr)[-500:]}
            continue
        seen = device_process.observe(code_of(source), "main", given(source, sizes), 240.0)
        expected = sum(s.sectors for s in seen.sites if not s.shared and s.kind != "both")
        found[name] = {"device": counted(done.stdout), "observer": expected}
    return found


def counted(said: str) -> int:
    """The sum of METRICS in what `ncu --csv` says."""
    table = said[said.index('"ID"') :]
    rows = csv.DictReader(io.StringIO(table))
    return sum(int(r["Metric Value"].replace(",", "")) for r in rows if r["Metric Name"] in METRICS)


# --- drills ------------------------------------------------------------------------------------


def works(toolkit: Toolkit) -> float:
    """Seconds that a small run takes, whose result must be right."""
    began = time.perf_counter()
    (found,) = run_cuda(code_of(ARRAY), "main", [np.int64(1000)], toolkit=toolkit).values
    assert np.array_equal(found, np.arange(1000))
    return time.perf_counter() - began


def drills(
    toolkit: Toolkit, too_many: int, workers: Callable[[], Executor], seconds: float = 3.0
) -> dict[str, Any]:
    """Provoke a kernel without end and too large an array; return messages and times to recover."""
    found: dict[str, Any] = {"before_s": works(toolkit)}
    for name, source, args, limit in (
        ("hang", ENDLESS, [np.arange(1000, dtype=np.int32)], seconds),
        ("memory", ARRAY, [np.int64(too_many)], 60.0),
    ):
        says = "nothing"
        try:
            run_cuda(code_of(source), "main", args, limit, toolkit=toolkit)
        except CompileError as error:
            says = error.message
        found[name] = {"says": says, "then_s": works(toolkit)}
    with workers() as pool:
        began = time.perf_counter()
        list(pool.map(works, [toolkit] * 3))
        found["three_workers_s"] = time.perf_counter() - began
    return found


def _spawned() -> Executor:
    return ProcessPoolExecutor(3, multiprocessing.get_context("spawn"))


# --- all -----------------------------------------------------------------------------------------


def measure(
    toolkit: Toolkit,
    large: dict[str, dict[str, int]] = LARGE,
    copied: int = COPIED,
    workers: Callable[[], Executor] = _spawned,
    tools: bool = True,
    only: Sequence[str] = (),
) -> dict[str, Any]:
    """The figures of every part, or of `only` some; of one that fails, its `problem`."""
    place = device_process.found(toolkit)[0]
    parts: dict[str, Callable[[], Any]] = {
        "results": lambda: results(toolkit),
        "times": lambda: times(toolkit, large, copied, tools),
        "subnormals": lambda: subnormals(toolkit),
        "graphs": lambda: graphs(toolkit),
        **({"arrays": lambda: arrays(toolkit)} if tools else {}),
        "drills": lambda: drills(toolkit, place.bytes, workers),
        **({"sanitizers": sanitizers, "sectors": sectors} if tools else {}),
        **({"libraries": lambda: dict(libraries.measured("", RUNS))} if tools else {}),
    }
    figures: dict[str, Any] = {
        "device": f"{place.name}, {place.bytes >> 20:,} MB",
        "driver": ".".join(map(str, place.driver)),
    }
    for name, find in parts.items():
        if name in only or not only:
            try:
                figures[name] = find()
            except Exception as error:  # the device's time is short: the other parts go on
                traceback.print_exc()
                figures[name] = {"problem": f"{type(error).__name__}: {error}"}
            print(name, json.dumps(figures[name]), flush=True)
    return figures


def part(figures: dict[str, Any], command: str) -> str:
    """The part of the document, of all parts that have been measured."""
    done = {name: f for name, f in figures.items() if not (isinstance(f, dict) and "problem" in f)}
    lines = [f"- {n} failed: {f['problem']}" for n, f in figures.items() if n not in done]
    said = {
        "times": _timed,
        "results": _wrong,
        "graphs": _looped,
        "arrays": _called,
        "drills": _drilled,
    }
    told = [tell(done[name]) for name, tell in said.items() if name in done]
    if "subnormals" in done:
        lines.append(f"- Subnormals: {done['subnormals'] or 'they stay'}.")
    for name, one in done.get("libraries", {}).items():
        lines.append(f"- libraries, {name}: {json.dumps(one)}")
    for name in ("sanitizers", "sectors"):
        for key, value in done.get(name, {}).items():
            lines.append(f"- {name}, {key}: {value or 'nothing found'}")
    return "\n\n".join(
        [
            TITLE,
            f"`{command}` on {figures['device']}, whose driver knows CUDA {figures['driver']}. "
            "Medians; bytes are those of inputs and results.",
            *told,
            *(["\n".join(lines)] if lines else []),
        ]
    )


def _timed(times: dict[str, Any]) -> str:
    head = ["program", "ms", "GB/s", "of a copy", "Futhark, ms"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, one in times.items():
        other = one.get("futhark_ms", "")
        other = f"{other:.3f}" if isinstance(other, float) else other
        speed = f"{one['gb_s']:.1f} | {100 * one['of_copy']:.0f} %"
        lines.append(f"| {name} | {one['ms']:.3f} | {speed} | {other} |")
    return "\n".join(lines)


def _wrong(results: dict[str, str]) -> str:
    wrong = [f"- {name}: {says}" for name, says in results.items() if says]
    return "\n".join(wrong) or "All programs give what the interpreter gives."


def _called(arrays: dict[str, Any]) -> str:
    wrong = [f"- arrays, {name}: {says}" for name, says in arrays["results"].items() if says]
    said = f"A call on a small array of CuPy's takes the host {arrays['call_us']:.1f} microseconds"
    return "\n\n".join([f"{said}, and `xs + 1` of CuPy {arrays['cupy_call_us']:.1f}.", *wrong])


def _looped(graphs: dict[str, Any]) -> str:
    return (
        f"A loop of {graphs['rounds']:,} launches takes {graphs['graphs_ms']:.2f} ms as graphs, "
        f"and {graphs['launches_ms']:.2f} ms as launches."
    )


def _drilled(drills: dict[str, Any]) -> str:
    lines = [
        f'- {name}: "{drills[name]["says"]}" A run takes {drills[name]["then_s"]:.2f} s after it, '
        f"and {drills['before_s']:.2f} s as the first."
        for name in ("hang", "memory")
    ]
    return "\n".join(
        [*lines, f"- Three workers, a run of each: {drills['three_workers_s']:.2f} s."]
    )


def written(document: str, text: str) -> str:
    """The document with this part in place of that from before, or at its end."""
    head, title, rest = document.partition(f"{TITLE}\n")
    _, mark, after = rest.partition("\n## ")
    tail = f"\n\n## {after}" if mark else "\n"
    return f"{head.rstrip()}\n\n{text}{tail if title else chr(10)}"


def main() -> int:
    """The exit status."""
    if sys.argv[1:2] == ["--inside"]:
        inside(GPUS, sys.argv[2])
        return 0
    only = words(__doc__, "PART")
    why = device_process.why_not()
    if why:
        print(f"Nothing is measured: {why}", file=sys.stderr)
        return UNAVAILABLE
    command = shlex.join(["python", "-m", "bench.device", *only])
    figures = measure(GPUS, only=only)
    print(save("device", command, figures))
    DOCUMENT.write_text(written(DOCUMENT.read_text("utf-8"), part(figures, command)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
