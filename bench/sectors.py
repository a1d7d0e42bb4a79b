"""Compare sectors that programs of all forms fetch and write: the observer's count and a device's.

    python -m bench.sectors [NAME..]       on a machine with a GPU and NVIDIA's ncu; a minute or two
    python -m bench.sectors --observed     the observer's counts alone, without a GPU

Writes `bench/results/sectors.json`. Programs that differ are printed with both counts; the exit
status is 1 then, and 69 without a GPU.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench import device
from bench.machine import ROOT, UNAVAILABLE, save
from compiler.runtime import device_process
from compiler.runtime.device_process import GPUS

AT_ONCE = 4
"""Programs that are profiled at once, each by a process of its own."""
SECONDS = 240.0
Programs = dict[str, tuple[str, dict[str, int]]]
VECTOR = {"n": 20_011}
ROWS = {"n": 333, "m": 77}
ENTRY, MATRIX = "entry main [n] (xs: [n]{}) = ", "entry main [n][m] (a: [n][m]{}) = "


def _maps() -> Programs:
    """One point for each element, of all widths, read where the index says."""
    found: Programs = {
        f"map {t}": (ENTRY.format(t) + "map (+ 1) xs", VECTOR)
        for t in ("i8", "i16", "i32", "i64", "f16", "f64")
    }
    places = {
        "stride 3": "3 * i % n", "stride 33": "33 * i % n", "stride 2 of pairs": "(i / 2) * 2",
        "backward": "n - 1 - i", "squares": "(i * i + 7 * i) % n", "near": "i64.max 0 (i - 1)",
        "one for all": "n / 2", "blocks of 5": "(i % 5) * (n / 5) + i / 5",
    }  # fmt: skip
    for name, at in places.items():
        for t in ("u8", "f32", "f64") if name.startswith("stride") else ("f32",):
            found[f"{name} {t}"] = (ENTRY.format(t) + f"map (\\i -> xs[{at}]) (iota n)", VECTOR)
    found["several arrays"] = (
        "entry main [n] (xs: [n]i8) (ys: [n]f64) = map2 (\\x y -> (f64.i8 x + y, x)) xs ys",
        VECTOR,
    )
    found["a branch of a load"] = (
        ENTRY.format("i32") + "map (\\i -> if i % 3 == 0 then xs[n - 1 - i] else 0) (iota n)",
        VECTOR,
    )
    return found


def _rows() -> Programs:
    """Reductions and scans of rows and of all, by each way that there is."""
    found: Programs = {}
    for n, m in ((333, 77), (65, 1025), (2000, 5), (40, 300)):
        sizes = {"n": n, "m": m}
        for t in ("u8", "f32") if m == 77 else ("f64",):
            found[f"sums of {m} {t}"] = (MATRIX.format(t) + f"map {t}.sum a", sizes)
            found[f"scans of {m} {t}"] = (MATRIX.format(t) + f"map (scan (+) ({t}.i64 0)) a", sizes)
    after = "map (reduce (\\x y -> if y == 0 then x else y) 0) a"
    found["ordered reductions"] = (MATRIX.format("i32") + after, ROWS)
    found["columns"] = (MATRIX.format("f32") + "map f32.sum (transpose a)", ROWS)
    for t in ("i32", "f64", "i8"):
        found[f"sum {t}"] = (ENTRY.format(t) + f"{t}.sum xs", VECTOR)
        found[f"scan {t}"] = (ENTRY.format(t) + f"scan (+) ({t}.i64 0) xs", VECTOR)
    found["rows in turn"] = (
        MATRIX.format("f32") + "map (\\r -> let s = f32.sum r in scan (+) 0 (map (/ s) r)) a",
        {"n": 70, "m": 200},
    )
    return found


def _moved() -> Programs:
    """Transpositions, products of matrices, and what is put together."""
    found: Programs = {
        f"transposition {t}": (MATRIX.format(t) + "map (map (+ 1)) (transpose a)", ROWS)
        for t in ("u8", "f32", "f64")
    }
    found["transposition of three"] = (
        "entry main [a][b][c] (x: [a][b][c]f32): [b][a][c]f32 = map (map (map (* 2)))"
        " (transpose x)",
        {"a": 19, "b": 33, "c": 70},
    )
    for t, sizes in (("f64", (70, 50, 90)), ("f32", (64, 64, 64)), ("i32", (33, 100, 31))):
        n, m, p = sizes
        found[f"product {t}"] = (
            f"entry main [n][m][p] (a: [n][m]{t}) (b: [m][p]{t}): [n][p]{t} ="
            f" map (\\r -> map (\\c -> {t}.sum (map2 (*) r c)) (transpose b)) a",
            {"n": n, "m": m, "p": p},
        )
    found["rows behind each other"] = (MATRIX.format("i16") + "flatten (a ++ reverse a)", ROWS)
    found["every other column"] = (MATRIX.format("f32") + "map (map (+ 1)) a[:, ::2]", ROWS)
    found["a part of rows"] = (MATRIX.format("f32") + "map (map (+ 1)) a[3:, 5:70]", ROWS)
    return found


def _windows() -> Programs:
    """Points that read the cells around them."""
    around = {
        "above and right": "a[i, j] + a[i64.max 0 (i-1), j] + a[i, i64.min (m-1) (j+1)]",
        "a cross": "a[i, j] + a[(i + 1) % n, j] + a[i, (j + 1) % m] + a[(i - 1) % n, j]",
        "a column": "a[i64.max 0 (i - 2), j] + a[i, j] + a[i64.min (n - 1) (i + 2), j]",
        "a row": "a[i, i64.max 0 (j - 3)] + a[i, j] + a[i, i64.min (m - 1) (j + 3)]",
    }
    found: Programs = {
        f"{name} {n} by {m}": (
            MATRIX.format("f32") + f"tabulate_2d n m (\\i j -> {cells})",
            {"n": n, "m": m},
        )
        for name, cells in around.items()
        for n, m in ((201, 303), (64, 128))
    }
    nine = "map (\\i -> f32.sum (map (\\j -> xs[i + j]) (iota 9))) (iota (n - 8))"
    found["windows of nine"] = (ENTRY.format("f32") + nine, VECTOR)
    three = "map (\\i -> xs[i64.max 0 (i - 1)] + xs[i] + xs[i64.min (n - 1) (i + 1)]) (iota n)"
    found["windows of three"] = (ENTRY.format("f64") + three, VECTOR)
    return found


def _written() -> Programs:
    """Writes where the data says, histograms, and loops of the host."""
    bins = "(map (\\i -> i64.i32 i % 100) is)"
    histogram = "entry main [n] (is: [n]i32) (xs: [n]i32) ="
    histogram += f" reduce_by_index (replicate 100 0) (+) 0 {bins} xs"
    found: Programs = {
        f"scatter {t}": (
            ENTRY.format(t) + f"scatter (replicate n ({t}.i64 0)) (map (\\i -> i * {by} % n)"
            " (iota n)) xs",
            VECTOR,
        )
        for t, by in (("i32", 17), ("f64", 1), ("u8", 3))
    }
    found["histogram of 100"] = (histogram, VECTOR)
    found["filter"] = (ENTRY.format("i32") + "filter (\\x -> x % 3 == 0) xs", VECTOR)
    found["rounds"] = (
        ENTRY.format("f32") + "loop ys = xs for _i < 5 do map2 (+) ys (rotate 1 ys)",
        VECTOR,
    )
    found["loops of many lengths"] = (
        ENTRY.format("f32") + "map (\\i -> loop s = 0 for j < i % 9 do s + xs[j]) (iota n)",
        VECTOR,
    )
    return found


PROGRAMS: Programs = {**_maps(), **_rows(), **_moved(), **_windows(), **_written()}


def observed(name: str) -> int:
    """Count sectors by the observer, without atomic accesses, which a device may repeat."""
    source, sizes = PROGRAMS[name]
    args = device.given(source, sizes)
    seen = device_process.observe(device.code_of(source), "main", args, SECONDS)
    assert not seen.problems, seen.problems
    return sum(site.sectors for site in seen.sites if not site.shared and site.kind != "both")


def profiled(name: str) -> int:
    """Count sectors of the same loads and stores by a device's profiler."""
    own = (sys.executable, "-m", "bench.sectors", "--inside", name)
    command = ("ncu", "--csv", "--metrics", ",".join(device.METRICS), *own)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-500:])
    return device.counted(done.stdout)


def compared(name: str) -> dict[str, Any]:
    """Both counts of a program, or the problem that there is."""
    try:
        return {"device": profiled(name), "observer": observed(name)}
    except Exception as error:  # the device's time is short: the other programs go on
        return {"problem": f"{type(error).__name__}: {error}"}


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("programs", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--observed", action="store_true", help="the observer's counts alone")
    parser.add_argument("--inside", action="store_true", help="run one, for whoever profiles it")
    asked = parser.parse_args()
    names = asked.programs or list(PROGRAMS)
    if unknown := next((name for name in names if name not in PROGRAMS), ""):
        parser.error(f"there is no program `{unknown}`: there are {', '.join(PROGRAMS)}")
    if asked.inside:
        source, sizes = PROGRAMS[names[0]]
        device.here(GPUS, device.code_of(source), device.given(source, sizes))
        return 0
    if asked.observed:
        for name in names:
            print(name, observed(name), flush=True)
        return 0
    why = device_process.why_not() or ("" if shutil.which("ncu") else "there is no ncu on the PATH")
    if why:
        print(f"Nothing is measured: {why}", file=sys.stderr)
        return UNAVAILABLE
    place = device_process.found(GPUS)[0]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        figures = dict(zip(names, pool.map(compared, names), strict=True))
    wrong = {name: one for name, one in figures.items() if one.get("device") != one.get("observer")}
    wrong |= {name: one for name, one in figures.items() if "problem" in one}
    for name, one in wrong.items():
        print(name, json.dumps(one))
    print(f"{len(figures) - len(wrong)} of {len(figures)} are equal")
    command = shlex.join(["python", "-m", "bench.sectors", *asked.programs])
    print(save("sectors", command, {"device": place.name, "programs": figures}))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
