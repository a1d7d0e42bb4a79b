"""Tasks for which a GPU has libraries: ours beside them, on a device.

    python -m bench.libraries [--only NAME] [--runs N] [--without RULE,..]

PyTorch's calls run where it is installed; in products of matrices it may not use TF32. Times are
medians of runs whose inputs and results lie on the device, in milliseconds. Results of ours are
compared with NumPy's. Writes `bench/results/libraries.json`, by which `bench.foretold` tells how
far off times are that are foretold. Without a GPU it says why, and its exit status is 69.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from bench.machine import EXAMPLES, RESULTS, UNAVAILABLE, save
from compiler.base.errors import CompileError
from compiler.base.stack import with_deep_stack
from compiler.base.text import plain
from compiler.driver import api
from compiler.ir.values import Value
from compiler.protocol.kinds import OfProgram, Options
from compiler.runtime import device_process, devices
from compiler.runtime.device_process import GPUS, Toolkit, run_cuda
from compiler.testing import inputs

Call = Callable[..., Any]
SECONDS = 60.0
WARM = 5


@dataclass(frozen=True, slots=True)
class Task:
    """A program, types of its inputs (`[9]i32<5`: from 0 to 4), and what a library calls it.

    `numpy` makes the first result, or None where NumPy takes too long; `torch` is given the module
    and the inputs on the device.
    """

    source: str
    takes: str
    torch: Call | None = None
    numpy: Call | None = None

    def inputs(self) -> list[Value]:
        """Random ones, the same each time."""
        words = [word.partition("<") for word in self.takes.split(" ")]
        made = inputs.random(" ".join(word for word, _, _ in words))
        return [
            np.mod(value, int(most)).astype(np.asarray(value).dtype) if most else value
            for value, (_, _, most) in zip(made, words, strict=True)
        ]

    def stand_ins(self) -> list[Value]:
        """Arrays of the same shapes that take no memory, and the numbers."""
        return [
            np.broadcast_to(np.float32(0), [int(size) for size in re.findall(r"\[(\d+)\]", word)])
            if word.startswith("[")
            else inputs.random(word)[0]
            for word in self.takes.split(" ")
        ]


def _of(head: str, body: str) -> str:
    return f"entry main {head} = {body}"


ROWS = "[n][m] (a: [n][m]f32):"
TALL = "[100000][500]f32"
PRODUCT = _of(
    "[n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32",
    "map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose b)) a",
)
HISTOGRAM = _of(
    "[n] (is: [n]i32): [256]i32",
    "reduce_by_index (replicate 256 0) (+) 0 (map i64.i32 is) (replicate n 1)",
)
SOFTMAX = _of(
    ROWS + " [n][m]f32",
    "map (\\r -> let most = f32.maximum r let e = map (\\x -> f32.exp (x - most)) r"
    " let s = f32.sum e in map (/ s) e) a",
)
LAYER_NORM = _of(
    ROWS + " [n][m]f32",
    "map (\\r -> let k = f32.i64 m let mean = f32.sum r / k"
    " let v = f32.sum (map (\\x -> (x - mean) * (x - mean)) r) / k"
    " in map (\\x -> (x - mean) / f32.sqrt (v + 1e-5)) r) a",
)
ATTENTION = _of(
    "[h][n][d] (q: [h][n][d]f32) (k: [h][n][d]f32) (v: [h][n][d]f32): [h][n][d]f32",
    "map3 (\\q k v -> map (\\qi -> let s = map (\\kj -> f32.sum (map2 (*) qi kj) /"
    " f32.sqrt (f32.i64 d)) k let most = f32.maximum s let e = map (\\x -> f32.exp (x - most)) s"
    " let t = f32.sum e in map (\\c -> f32.sum (map2 (*) e c) / t) (transpose v)) q) q k v",
)
STENCIL = _of(
    "[n][m] (k: i64) (a: [n][m]f32): [n][m]f32",
    "loop a for _i < k do tabulate_2d n m (\\i j ->"
    " let at i j = a[i64.max 0 (i64.min (n-1) i), i64.max 0 (i64.min (m-1) j)]"
    " in 0.2 * (at i j + at (i-1) j + at (i+1) j + at i (j-1) + at i (j+1)))",
)


def _product(one: int, prim: str = "f32") -> Task:
    takes = f"[{one}][{one}]{prim} [{one}][{one}]{prim}"
    exact = None if prim == "f16" else np.matmul  # f16: sums of 2,048 products have few digits
    return Task(PRODUCT.replace("f32", prim), takes, lambda torch, a, b: a @ b, exact)


def _bins(torch: Any, x: Any) -> Any:
    return torch.bincount(x, minlength=256)


TASKS = {
    "copy 1e8 f32": Task(
        _of("[n] (xs: [n]f32): [n]f32", "copy xs"),
        "[100000000]f32",
        lambda torch, x: x.clone(),
        np.copy,
    ),
    "sum 1e8 f32": Task(
        _of("[n] (xs: [n]f32): f32", "f32.sum xs"),
        "[100000000]f32",
        lambda torch, x: x.sum(),
        lambda x: np.float32(x.sum(dtype=np.float64)),
    ),
    "dot 5e7 f32": Task(
        _of("[n] (xs: [n]f32) (ys: [n]f32): f32", "f32.sum (map2 (*) xs ys)"),
        "[50000000]f32 [50000000]f32",
        lambda torch, x, y: torch.dot(x, y),
        lambda x, y: np.float32(np.dot(x.astype(np.float64), y)),
    ),
    "saxpy 5e7": Task(
        _of("[n] (xs: [n]f32) (ys: [n]f32): [n]f32", "map2 (\\x y -> 2*x+y) xs ys"),
        "[50000000]f32 [50000000]f32",
        lambda torch, x, y: torch.add(y, x, alpha=2),
        lambda x, y: 2 * x + y,
    ),
    "scan 5e7 i32": Task(
        _of("[n] (xs: [n]i32): [n]i32", "scan (+) 0 xs"),
        "[50000000]i32<9",
        lambda torch, x: torch.cumsum(x, 0, dtype=torch.int32),
        lambda x: np.cumsum(x, dtype=np.int32),
    ),
    "filter 5e7 i32 third": Task(
        _of("[n] (xs: [n]i32): []i32", "filter (\\x -> x % 3 == 0) xs"),
        "[50000000]i32<9",
        lambda torch, x: x[x % 3 == 0],
        lambda x: x[x % 3 == 0],
    ),
    "hist 256 5e7": Task(
        HISTOGRAM, "[50000000]i32<256", _bins, lambda x: np.bincount(x, minlength=256)
    ),
    "row sums 1e5x500": Task(
        _of(ROWS + " [n]f32", "map f32.sum a"),
        TALL,
        lambda torch, a: a.sum(1),
        lambda a: a.sum(1),
    ),
    "column sums 1e5x500": Task(
        _of(ROWS + " [m]f32", "map f32.sum (transpose a)"),
        TALL,
        lambda torch, a: a.sum(0),
        lambda a: a.sum(0, dtype=np.float64).astype(np.float32),
    ),
    "softmax 1e5x500": Task(SOFTMAX, TALL, lambda torch, a: torch.softmax(a, 1)),
    "layernorm 1e5x500": Task(
        LAYER_NORM, TALL, lambda torch, a: torch.nn.functional.layer_norm(a, (500,))
    ),
    "row scans 1e5x500": Task(
        _of(ROWS + " [n][m]f32", "map (scan (+) 0) a"),
        TALL,
        lambda torch, a: torch.cumsum(a, 1),
        lambda a: np.cumsum(a, 1),
    ),
    "short rows 5e6x10": Task(
        _of(ROWS + " [n]f32", "map f32.sum a"),
        "[5000000][10]f32",
        lambda torch, a: a.sum(1),
        lambda a: a.sum(1),
    ),
    "transpose 8000x6000": Task(
        _of(ROWS + " [m][n]f32", "map (map (+ 1)) (transpose a)"),
        "[8000][6000]f32",
        lambda torch, a: (a.t() + 1).contiguous(),
        lambda a: a.T + 1,
    ),
    "matmul 512 f32": _product(512),
    "matmul 2048 f32": _product(2048),
    "matmul 4096 f32": _product(4096),
    "matmul 2048 f64": _product(2048, "f64"),
    "matmul 2048 f16": _product(2048, "f16"),
    "bmm 4096x32": Task(
        _of(
            "[b][n][m][p] (a: [b][n][m]f32) (c: [b][m][p]f32): [b][n][p]f32",
            "map2 (\\x y -> map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose y)) x) a c",
        ),
        "[4096][32][32]f32 [4096][32][32]f32",
        lambda torch, a, b: torch.bmm(a, b),
        np.matmul,
    ),
    "matvec 8192": Task(
        _of("[n][m] (a: [n][m]f32) (x: [m]f32): [n]f32", "map (\\r -> f32.sum (map2 (*) r x)) a"),
        "[8192][8192]f32 [8192]f32",
        lambda torch, a, x: a @ x,
        np.matmul,
    ),
    "matvec transposed 8192": Task(
        _of(
            "[n][m] (a: [n][m]f32) (x: [n]f32): [m]f32",
            "map (\\r -> f32.sum (map2 (*) r x)) (transpose a)",
        ),
        "[8192][8192]f32 [8192]f32",
        lambda torch, a, x: a.t() @ x,
        lambda a, x: a.T @ x,
    ),
    "radix sort 4e6 u32": Task(
        (EXAMPLES / "radix_sort.fut").read_text(),
        "[4000000]u32",
        lambda torch, x: torch.sort(x.view(torch.int32)),
        np.sort,
    ),
    "sort 4e6 u32": Task(
        "entry main [n] (xs: [n]u32): [n]u32 = radix_sort u32.num_bits u32.get_bit xs",
        "[4000000]u32",
        lambda torch, x: torch.sort(x.view(torch.int32)),
        np.sort,
    ),
    "attention 8x1024x64 f32": Task(
        ATTENTION,
        "[8][1024][64]f32 [8][1024][64]f32 [8][1024][64]f32",
        lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(
            q[None], k[None], v[None]
        ),
    ),
    "stencil 4096^2 10 steps": Task(STENCIL, "10i64 [4096][4096]f32"),
}


def asked(task: Task, without: Sequence[str] = ()) -> OfProgram:
    """The program, for CUDA, without some rules."""
    options: Options = {"target": "cuda", "disable": list(without)}
    return OfProgram(task.source, options)


def ours(task: Task, args: list[Value], runs: int, without: Sequence[str], kit: Toolkit) -> Any:
    """The median, and whether the result is NumPy's where that is asked. Errors: of a run."""
    text = plain(api.compilation(asked(task, without)).result("cuda").text)
    done = run_cuda(text, "main", args, SECONDS, runs, kit)
    found: dict[str, Any] = {"ours": median(done.times[1:] or done.times)}
    if task.numpy is not None:
        expected = np.asarray(task.numpy(*args))
        found["ok"] = bool(np.allclose(done.values[0], expected, rtol=1e-2))
    return found


def library(torch: Any, task: Task, args: Sequence[Value], runs: int) -> float:
    """The median of PyTorch's call, by events."""
    given = [
        torch.from_numpy(np.ascontiguousarray(one)).cuda() if np.ndim(one) else one for one in args
    ]
    assert task.torch is not None
    for _ in range(WARM):
        task.torch(torch, *given)
    took: list[float] = []
    for _ in range(runs):
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        began.record()
        task.torch(torch, *given)
        ended.record()
        ended.synchronize()
        took.append(float(began.elapsed_time(ended)))
    return median(took)


def measured(
    only: str, runs: int, without: Sequence[str] = (), kit: Toolkit = GPUS
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each task, with its times; of one that fails, its `problem`."""
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    if torch is not None:
        torch.backends.cuda.matmul.allow_tf32 = False
    for name, task in TASKS.items():
        if only not in name:
            continue
        args, found = task.inputs(), {}
        try:
            found = ours(task, args, runs, without, kit)
        except CompileError as error:
            found["problem"] = error.message
        if torch is not None and task.torch is not None:
            try:
                found["torch"] = library(torch, task, args, runs)
            except Exception as error:  # a library's own; the other tasks go on
                found["torch_problem"] = f"{type(error).__name__}: {error}"[:200]
        yield name, found


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="only tasks with this in their names")
    parser.add_argument("--runs", type=int, default=12, help="of each; the first is not counted")
    parser.add_argument("--without", default="", metavar="RULE,..", help="rules that are off")
    args = parser.parse_args()
    if why := device_process.why_not():
        print(f"Nothing is measured: {why}", file=sys.stderr)
        return UNAVAILABLE
    with_deep_stack(lambda: _tell(args))
    return 0


def _tell(args: argparse.Namespace) -> None:
    place = devices.places(device_process.found())[0]
    without = [name for name in args.without.split(",") if name]
    path = RESULTS / "libraries.json"
    figures = json.loads(path.read_text())["figures"] if args.only else {}
    command = shlex.join(["python", "-m", "bench.libraries", *sys.argv[1:]])
    for name, found in measured(args.only, args.runs, without):
        figures[name] = found
        print(name, json.dumps(found), flush=True)
        save("libraries", command, figures, device=place.name, without=without)


if __name__ == "__main__":
    sys.exit(main())
