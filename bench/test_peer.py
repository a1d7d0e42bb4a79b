"""The stand-in for CUDA's driver and compiler, with a host program in the manner of Futhark's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bench import machine, peer_bytes
from bench.peer import build
from bench.peer_bytes import Bytes
from compiler.protocol.kinds import OfProgram
from compiler.runtime.observer import build as observer

needs_cxx = pytest.mark.skipif(bool(observer.why_not()), reason=observer.why_not())

KERNELS = r"""
extern volatile __shared__ unsigned char shared_mem[];
#define KERNEL extern "C" __global__ __launch_bounds__(64)
#define TURNED(NAME, T) KERNEL void turned_##NAME(T *to, const T *from) { \
    int at = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * blockIdx.z); \
    ((volatile T *)shared_mem)[at % ROW] = from[at]; \
    __syncthreads(); \
    to[at] = ((volatile T *)shared_mem)[ROW - 1 - at % ROW]; \
}
TURNED(f32, float)
KERNEL void strided(double *to, int by, double what) {
    for (int k = 0; k < 2; k++) {
        to[threadIdx.x * by + k] = what + k;
    }
}
"""
HOST = r"""
#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
const char *text = TEXT;
int main() {
    const char *options[] = {"-DROW=64", "-lineinfo"};
    nvrtcProgram program;
    size_t size;
    CUmodule module;
    CUfunction turned, strided;
    CUdeviceptr from, to, wide;
    float cells[128];
    cuInit(0);
    nvrtcCreateProgram(&program, text, "one", 0, NULL, NULL);
    if (nvrtcCompileProgram(program, 2, options)) return 1;
    nvrtcGetPTXSize(program, &size);
    char *made = malloc(size);
    nvrtcGetPTX(program, made);
    if (cuModuleLoadData(&module, made)) return 2;
    cuModuleGetFunction(&turned, module, "turned_f32");
    cuModuleGetFunction(&strided, module, "strided");
    cuMemAlloc(&from, sizeof cells), cuMemAlloc(&to, sizeof cells), cuMemAlloc(&wide, 64 * 64);
    for (int k = 0; k < 128; k++) cells[k] = k;
    cuMemcpyHtoD(from, cells, sizeof cells);
    void *turns[] = {&to, &from};
    cuLaunchKernel(turned, 1, 1, 2, 32, 2, 1, 256, NULL, turns, NULL);
    cuCtxSynchronize();
    cuLaunchKernel(turned, 1, 1, 2, 32, 2, 1, 256, NULL, turns, NULL);
    int by = 8;
    double what = 0.5;
    void *given[] = {&wide, &by, &what};
    cuLaunchKernel(strided, 1, 1, 1, 32, 1, 1, 0, NULL, given, NULL);
    cuMemcpyAsync(wide, to, 256, NULL);
    cuMemcpyDtoH(cells, to, sizeof cells);
    printf("%g %g %g %g\n", cells[0], cells[63], cells[64], cells[127]);
    return 0;
}
"""


@needs_cxx
def test_kernels_of_a_host_program(tmp_path: Path) -> None:
    quoted = "\n".join(f'"{line}\\n"' for line in _escaped(KERNELS))
    source = tmp_path / "host.c"
    source.write_text(HOST.replace("TEXT", quoted))
    env = {**os.environ, **build.libraries(tmp_path), "PEER_REPORT": str(tmp_path / "report")}
    made = str(tmp_path / "host")
    flags = ["-lcuda", "-lcudart", "-lnvrtc", "-o", made]
    subprocess.run(["gcc", "-std=c99", str(source), *flags], env=env, check=True)
    done = subprocess.run([made], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "63 0 127 64\n"
    rows = sorted((tmp_path / "report").read_text().splitlines())
    # 128 f32 are 16 sectors, once: what comes before the first wait is not counted. 32 threads
    # that are 64 bytes apart write to a sector each, in two iterations.
    assert rows == ["copies 0 8 8", "strided 1 0 64", "turned_f32 1 16 16"]


def _escaped(text: str) -> list[str]:
    return text.replace("\\", "\\\\").replace('"', '\\"').split("\n")


@needs_cxx
def test_headers_are_one_whenever_they_were_made(tmp_path: Path) -> None:
    names = ("cuda.h", "cuda_runtime.h", "nvrtc.h")
    for when, name in enumerate(names):
        shutil.copy(build.HERE / "cuda.h", tmp_path / name)
        os.utime(tmp_path / name, (when, when))
    text = "".join(f"#include <{name}>\n" for name in names)
    given = ["gcc", "-fsyntax-only", f"-I{tmp_path}", "-xc", "-"]
    subprocess.run(given, input=text, text=True, check=True)


def test_figures_are_saved_with_the_command_that_makes_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    monkeypatch.setattr(peer_bytes, "suite", lambda folder, only: [(only, "no data")])
    for only in ("one two", "three"):
        given = ["--suite", str(tmp_path / "programs"), "--only", only, "--save", "bytes"]
        monkeypatch.setattr("sys.argv", ["peer_bytes", *given])
        peer_bytes.main()
    saved = json.loads((tmp_path / "bytes.json").read_text())
    assert saved["command"] == "python -m bench.peer_bytes --suite programs --save bytes"
    assert saved["figures"] == {"one two": "no data", "three": "no data"}
    assert saved["counted"].keys() == saved["figures"].keys()
    assert peer_bytes.table("bytes") == ["| one two | no data |", "| three | no data |"]


@pytest.mark.parametrize("name", ["peer_bytes", "peer_bytes-suite"])
def test_the_docs_have_the_table_that_is_saved(name: str) -> None:
    """All rows in their order, but for programs of which no row came."""
    text = (machine.ROOT / "docs" / "performance.md").read_text("utf-8")
    rows = [
        line
        for line in peer_bytes.table(name)
        if line.count("|") == peer_bytes.HEAD.count("|") // 2
    ]
    assert "\n".join([peer_bytes.HEAD, *rows, ""]) in text


def counted(name: str) -> dict[str, tuple[Bytes, Bytes]]:
    """Return the figures saved under a name: of each program ours by default, and Futhark's."""
    saved = json.loads((machine.RESULTS / f"{name}.json").read_text())["figures"]
    kernels = {one: peer_bytes.kernels_of(f) for one, f in saved.items() if isinstance(f, dict)}
    return {
        one: (peer_bytes.total(of["default"]), peer_bytes.total(of["Futhark"]))
        for one, of in kernels.items()
    }


def test_only_scans_by_stages_move_more_than_futharks() -> None:
    """As the document says of all programs of the suite that are counted; in one pass none does."""
    suite, one_pass = counted("peer_bytes-suite"), counted("peer_bytes-look-back")
    assert all(ours.all <= theirs.all for ours, theirs in one_pass.values())
    more = [name for name, (ours, theirs) in suite.items() if ours.all > theirs.all]
    text = (machine.ROOT / "docs" / "performance.md").read_text("utf-8")
    assert f"In {len(suite) - len(more)} of the {len(suite)} here ours move at most as" in text
    for name in more:
        (stages, _), (ours, theirs) = suite[name], one_pass[name]
        cells = " | ".join(map(peer_bytes.shown, (ours, stages, theirs)))
        assert f"| {name} | {cells} | {ours.all / theirs.all:.2f} |" in text


def test_programs_have_names_of_their_own(tmp_path: Path) -> None:
    names = [one[0] for one in peer_bytes.suite(tmp_path, "") if isinstance(one, tuple)]
    assert len(names) > 80
    assert len(set(names)) == len(names)


def test_checks_that_a_program_drops_are_made_where_that_is_asked(tmp_path: Path) -> None:
    source = "entry main (xs: []i32) (i: i64): i32 = #[unsafe] xs[i]"
    work = peer_bytes.Work("one", OfProgram(source), tmp_path, "main", [])
    texts = [peer_bytes.text_of(work, None, peer_bytes.How(checked=c)) for c in (False, True)]
    assert ["out of bounds" in text for text in texts] == [False, True]
