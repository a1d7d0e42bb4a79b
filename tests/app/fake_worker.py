"""A worker for the server's tests: the protocol of the real one, and no compiler behind it.

Words in the source decide what happens: `SLEEP` never answers, `DIE` ends the process, `HOARD`
takes memory until it is stopped, `SLOW` takes half a second, `WRONG` is a type error, `HUGE` gets a
long answer, `GARBAGE` first says what follows the word (id 0 is the request's), `STUCK` gets one
stage and no more, `CHILD` starts a process that never ends, and `LITTER` leaves a temporary file. A
run of `ENDLESS` never ends, and one of `FAILS` fails at that place.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from compiler.protocol import packing

MANIFEST = [
    {"id": name, "title": title, "explain": explain, "kind": kind, "memory": name == "funmem"}
    for name, title, explain, kind in (
        ("typed", "Types", "Every expression has its type.", "typed"),
        ("fused", "Fused", "Producers join readers.", "ir"),
        ("funmem", "FUNMEM", "Arrays get their memory.", "ir"),
        ("c", "C", "Text for the C compiler.", "text"),
    )
]
ZERO: list[Any] = []
ONE, B, M, N, N2 = ([[1, *names]] for names in ((), ("b",), ("m",), ("n",), ("n_2",)))


def clock() -> float:
    """Milliseconds that are never the same twice."""
    return time.perf_counter_ns() / 1e6


def stage(source: str, name: str) -> dict[str, Any]:
    """The source's own lines, each linked to itself."""
    lines = [
        {
            "text": f"let x_{src[0]}: i64 = {text} -- {name}" + " @ mem_1" * (name == "funmem"),
            "src": [src],
            "node": src[0] - 1,
        }
        for text, src in placed(source)
    ]
    text = "".join(f"{line['text']}\n" for line in lines)
    return {
        "text": text,
        "lines": lines,
        "counts": {"map": source.count("map")},
        "same": False,
        "ms": clock(),
        "show_ms": clock(),
    }


def placed(source: str) -> list[tuple[str, list[int]]]:
    """The lines of the source that say something, with their places."""
    lines = enumerate(source.split("\n"), 1)
    return [(text.strip(), [k, 1, k, len(text) + 1]) for k, text in lines if text.strip()]


def of_texts(request: dict[str, Any]) -> dict[str, Any]:
    """A stage with its text, or what stands where in the texts."""
    source = request["source"]
    if "WRONG" in source:
        return check(request)
    match request["op"]:
        case "text":
            return {"ok": True, "stage": stage(source, request["stage"])}
        case "places":
            return {"ok": True, "places": [src for _, src in placed(source)]}
    return occurrences(request)


def occurrences(request: dict[str, Any]) -> dict[str, Any]:
    """Each stage has the lines of the source: those in the place, or else the one that holds it."""
    low, high = ((request[f"{p}line"], request[f"{p}column"]) for p in ("", "end_"))
    found = {}
    for info in MANIFEST:
        lines = stage(request["source"], info["id"])["lines"]
        ends = [(line, tuple(line["src"][0][:2]), tuple(line["src"][0][2:])) for line in lines]
        of = [line for line, a, b in ends if low <= a and b <= high]
        around = [line for line, a, b in ends if a <= low and high <= b]
        text = next((line["text"].strip() for line in of or around), "")
        found[info["id"]] = {"lines": len(of), "text": text}
    return {"ok": True, "stages": found}


def show(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Front-end stages first where the request streams."""
    source, wanted = request["source"], request.get("stages") or [s["id"] for s in MANIFEST]
    if "WRONG" in source:
        return [check(request)]
    texts = request.get("texts", wanted)
    without = {"text": None, "lines": None}
    made = {name: {**stage(source, name), **({} if name in texts else without)} for name in wanted}
    remark = {
        "kind": "applied",
        "rule": "fuse/map-map",
        "stage": "fused",
        "src": [[1, 1, 1, 4]],
        "because": "`ys` is read once.",
        "hint": "",
        "numbers": [["bytes saved", "4*n"]],
        "attempt": None,
        "refusal": "",
        "fused": [],
    }
    copied = {
        **remark,
        "kind": "missed",
        "attempt": 2,
        "rule": "shortcircuit/copy",
        "src": [[4, 1, 4, 11]],
        "because": "`row` is copied. `row` would overwrite cell 4, which is read later.",
    }
    if not request.get("stream"):
        return [{"ok": True, "stages": made, "remarks": [remark, copied]}]
    first, *rest = made
    return [
        {"ok": True, "partial": True, "stages": {first: {**made[first], "text": None}}},
        {"ok": True, "stages": {name: made[name] for name in rest}, "remarks": [remark, copied]},
    ]


def check(request: dict[str, Any]) -> dict[str, Any]:
    """One entry point with the parameters that the text has (else `[]i64`), or one error."""
    for number, line in enumerate(request["source"].split("\n"), 1):
        if "WRONG" in line:
            column = line.index("WRONG") + 1
            error = {
                "kind": "type",
                "message": "Unknown name `WRONG`.",
                "hint": "Did you mean `RIGHT`?",
                "span": [number, column, number, column + 5],
            }
            return {"ok": False, "error": error}
    params = re.findall(r"\((\w+): (.*?)\)(?= \(| =)", request["source"])
    named = {"names": [name for name, _ in params], "params": [kind for _, kind in params]}
    entry = named if params else {"names": ["#1"], "params": ["[]i64"]}
    entries = [{"name": "main", **entry, "results": ["i64"]}]
    warnings = [
        {
            "kind": "warning",
            "message": "`UNUSED` is not used.",
            "hint": "Call it `_`.",
            "span": [number, line.index("UNUSED") + 1, number, line.index("UNUSED") + 7],
        }
        for number, line in enumerate(request["source"].split("\n"), 1)
        if "UNUSED" in line
    ]
    return {"ok": True, "entries": entries, "warnings": warnings}


KERNEL = {"kind": "kernel", "operator": "segmap", "level": "grid", "space": [["i", "n"]]}
BRANCH = {"kind": "branch", "threshold": "enough_1", "amount": "n * 2", "default": 100, "also": ""}
BRANCH |= {"work": [[2, "n"]]}
ACCESSES = [
    {
        "src": [2, 1, 2, 6],
        "at": [2, 1, 2, 6],
        "kind": "index",
        "state": "dropped",
        "because": "It is proved to lie inside.",
        "claims": [{"says": "0 <= i < n", "facts": ["i runs from 0 to n - 1"]}],
        "missing": [],
    }
]
TREES = [
    {
        "function": "main",
        "trees": [
            {
                **BRANCH,
                "spans": [[2, 1, 2, 5]],
                "then": [{**KERNEL, "number": 1, "results": ["ys"], "spans": []}],
                "orelse": [{**KERNEL, "number": 2, "results": ["ys"], "spans": []}],
            }
        ],
    }
]


SPACE = [{"index": "i", "bound": N}]


def memory(request: dict[str, Any]) -> dict[str, Any]:
    """One array of n rows and m columns, stored by columns, each written by a thread of its own."""
    src = [[2, 1, 2, 5]]
    lmad = {"offset": ZERO, "dims": [[N, ONE], [M, N]]}
    array = {"name": "ys_1", "base": "ys", "prim": "i64", "shape": [N, M], "block": "ys_mem_2"}
    functions = [
        {
            "name": "main",
            "names": {"n": "n", "m": "m"},
            "arrays": [{**array, "lmad": lmad, "symbols": ["m", "n"], "src": src}],
            "blocks": [
                {
                    "name": "ys_mem_2",
                    "count": [[1, "m", "n"]],
                    "bytes": [[8, "m", "n"]],
                    "kind": "alloc",
                    "prim": "i64",
                    "space": "device",
                    "src": src,
                }
            ],
            "kernels": [
                {"name": "ys_1", "kind": "segmap", "level": "grid", "space": SPACE, "src": src}
            ],
        }
    ]
    answer: dict[str, Any] = {"ok": True, "functions": functions}
    if request.get("kernel"):
        points = [{"point": [cell], "cells": [cell]} for cell in range(24)]
        access = {"array": "ys_1", "block": "ys_mem_2", "writes": True, "points": points}
        more = {"complete": True, "certain": True, "because": "", "cell": ""}
        answer |= {"kernel": "ys_1", "space": SPACE, "accesses": [{**access, **more}]}
    if request.get("array"):
        n, m = request["values"]["n"], request["values"]["m"]
        cells = [{"index": [i, j], "cell": i + j * n} for i in range(n) for j in range(m)]
        where = {"array": "ys_1", "block": "ys_mem_2", "shape": [n, m]}
        answer |= {**where, "cells": cells, "first": 0, "last": n * m - 1, "complete": True}
        answer["lmad"] = {"offset": ZERO, "dims": [[[[n]], ONE], [[[m]], [[n]]]]}
    return answer


FACT = [[1, "n"], [-2, "b"], [-1]]
STEP = {
    "rule": "apart",
    "says": ["The smallest value of the sum is ", [[1, "n", "m"]], ", which is positive."],
    "offset": [[1, "n", "m"]],
    "dims": [[ONE, ZERO, [[1, "n"], [-1]]]],
    "needs": [{"claim": FACT, "scale": 1, "sum": [{"coefficient": 1, "factors": [FACT]}]}],
    "parts": [],
}
DISJOINT = {
    "verdict": "disjoint",
    "checked": True,
    "witness": None,
    "reason": "",
    "missing": None,
    "enough": [],
    "facts": [FACT, B],
    "steps": [STEP],
}
OVERLAP = {
    **DISJOINT,
    "verdict": "overlap",
    "witness": {"values": {"b": 1, "n": 4}, "cell": 4, "a": [0], "b": [1]},
    "reason": "Both hold cell 4 for b = 1, n = 4.",
    "steps": [],
}
UNKNOWN = {
    **DISJOINT,
    "verdict": "unknown",
    "checked": False,
    "missing": [[1, "m_9"], [-1, "k_4"], [-1]],
    "enough": [[[1, "m_9"], [-1, "n_2"]]],
    "steps": [],
}
ORIGINS = [
    {"why": "`k` counts the iterations of a loop", "src": [[3, 1, 3, 9]]},
    {"why": "a size of `ys`", "src": []},
]


def prove(request: dict[str, Any]) -> dict[str, Any]:
    """Disjoint, unless the second LMAD mentions `OVER` or `OPEN` and nothing more is assumed."""
    if "BAD" in request["a"]:
        error = {"kind": "usage", "message": "`BAD` is not a polynomial.", "hint": ""}
        return {"ok": False, "error": {**error, "span": None}}
    second = request["b"]
    verdict = OVERLAP if "OVER" in second else UNKNOWN if "OPEN" in second else DISJOINT
    if "m - n >= 0" in request.get("assumptions", {}).get("other", ()):
        verdict = DISJOINT
    read = {name: cells_named(request[name], []) for name in ("a", "b")}
    return {"ok": True, **verdict, **read, "ms": 0.5}


def cells_named(word: object, dims: list[Any]) -> dict[str, Any]:
    """Cells from one on that is called so."""
    return {"offset": [[1, {"op": str(word), "of": []}]], "dims": dims}


def cells(request: dict[str, Any]) -> dict[str, Any]:
    """Rows 1 and 2 (or 1 and a column, or 1 and 100) of a matrix with n columns."""
    b_name, n_name = ("b_8", "n_2") if "n_2" in str(request["lmads"]) else ("b", "n")
    values = {b_name: 1, n_name: 5, **request["values"]}
    b, n, column = values[b_name], values[n_name], "OVER" in str(request["lmads"][1])
    rows = [{"index": [k], "cell": n + k} for k in range(n)]
    far = 100 if "FAR" in str(request["lmads"][1]) else 2
    wide = 1000 if "WIDE" in str(request["lmads"][1]) else 1
    other = [{"index": [k], "cell": n * k if column else far * n + wide * k} for k in range(n)]
    shared = sorted({at["cell"] for at in rows} & {at["cell"] for at in other})
    sets = [
        {"offset": rows[0]["cell"], "dims": [[n, 1]], "points": rows},
        {"offset": other[0]["cell"], "dims": [[n, n if column else wide]], "points": other},
    ]
    return {
        "ok": True,
        "symbols": [b_name, n_name],
        "values": {b_name: b, n_name: n},
        "broken": [FACT] if n <= 2 * b else [],
        "lmads": [{**one, "count": n, "complete": True} for one in sets],
        "shared": shared,
    }


TAGS = {"b": "b_8", "m": "m_9", "n": "n_2"}


def tagged(data: Any) -> Any:
    """The data with the names of the program, as the compiler has them, in all polynomials."""
    if isinstance(data, list):
        term = data and isinstance(data[0], int)
        return [
            TAGS.get(part, part) if term and isinstance(part, str) else tagged(part)
            for part in data
        ]
    if not isinstance(data, dict):
        return data
    if "values" in data:
        return {**data, "values": {TAGS[name]: value for name, value in data["values"].items()}}
    return {key: tagged(part) for key, part in data.items()}


def attempts(request: dict[str, Any]) -> dict[str, Any]:
    """One that is built in place, one that is not, one that does not apply."""
    lmads = {
        "write": {"offset": N2, "dims": [[N2, ONE]]},
        "use": {"offset": [[2, "n_2"]], "dims": [[N2, ONE]]},
    }
    place = {"block": "ys_mem_2", "lmad": {"offset": N, "dims": [[N, ONE]]}}
    names = {tag: name for name, tag in TAGS.items()}
    names |= {"k_4": "k", "row_3": "row", "ys_1": "ys", "zs_7": "zs", "ys_mem_2": "ys_mem"}
    made = {
        "number": 1,
        "names": names,
        "rule": "shortcircuit/update",
        "source": "row_3",
        "destination": "ys_1",
        "src": [[4, 1, 4, 11]],
        "made": [[3, 1, 3, 9]],
        "done": True,
        "condition": 0,
        "refusal": "",
        "title": "",
        "because": "`row` is built in its place in `ys`, and never copied.",
        "hint": "",
        "witness": None,
        "way_out": None,
        "place": place,
        "creation": "row_3",
        "projected": place,
        "moved": [{"array": "row_3", **place}],
        "lifted": ["k_4"],
        "obligations": [{**lmads, "why": "in `row` and after it", **DISJOINT, "origins": ORIGINS}],
        "copied": [[[8, "n"]]],
        "allocated": [[[8, "n"]]],
    }
    kept = {
        **made,
        "number": 2,
        "rule": "shortcircuit/copy",
        "done": False,
        "condition": 5,
        "title": "The early writes do not overlap elements that are still needed.",
        "because": "`row` would overwrite cell 4, which is read later.",
        "hint": "Read it before.",
        "projected": {},
        "moved": [],
        "lifted": [],
        "obligations": [
            {
                **lmads,
                "use": cells_named("OVER", [[N2, N2]]),
                "why": "in `ys`",
                **OVERLAP,
                "origins": [],
            },
            {
                **lmads,
                "use": cells_named("OPEN", [[N2, ONE]]),
                "why": "in `zs`",
                **UNKNOWN,
                "origins": [],
            },
        ],
        "allocated": [],
    }
    outside = {
        **kept,
        "number": 3,
        "rule": "shortcircuit/concat",
        "source": "zs_7",
        "src": [[2, 1, 2, 5]],
        "made": [],
        "condition": 1,
        "because": "The memory of `zs` is not made in the same body.",
        "hint": "",
        "obligations": [],
    }
    found = [tagged(one) for one in (made, kept, outside)]
    for pair in (pair for one in found for pair in one["obligations"] if request.get("pictures")):
        known = (pair["witness"] or {}).get("values", {})
        told = cells({"lmads": [pair["write"], pair["use"]], "values": known})
        sets = [[at["cell"] for at in one["points"]] for one in told["lmads"]]
        strides = sorted({dim[1] for one in told["lmads"] for dim in one["dims"]})
        pair["picture"] = {"values": told["values"], "sets": sets, "strides": strides}
    return {"ok": True, "attempts": found}


def lifetimes(request: dict[str, Any]) -> dict[str, Any]:
    """A temporary that is copied into the result; with values also in bytes."""
    src = [[4, 1, 4, 11]]
    labels = ["parameters", "tmp_5 = segmap", "ys_1 = copy", "results"]
    block = {"prim": "i64", "space": "device", "per_point": False, "src": src}
    block["bytes"] = [[8, "n"]]
    array = {"prim": "i64", "shape": [N], "src": src}
    array["lmad"] = {"offset": ZERO, "dims": [[N, ONE]]}
    fun: dict[str, Any] = {
        "name": "main",
        "names": {"n": "n"},
        "points": [{"label": label, "depth": 0, "src": src} for label in labels],
        "blocks": [
            {**block, "name": "tmp_mem_6", "kind": "alloc", "at": 1, "until": 2},
            {**block, "name": "ys_mem_2", "kind": "alloc", "at": 2, "until": 3},
        ],
        "arrays": [
            {**array, "name": "tmp_5", "base": "tmp", "block": "tmp_mem_6", "first": 1, "last": 2},
            {**array, "name": "ys_1", "base": "ys", "block": "ys_mem_2", "first": 2, "last": 3},
        ],
        "symbols": ["n"],
    }
    for one in fun["arrays"]:
        one["blocks"] = [one["block"]]
    if "values" not in request:
        return {"ok": True, "functions": [fun]}
    n = request["values"].get("n", 10)
    for one in fun["blocks"]:
        one["size"] = 8 * n
    fun |= {"live": [0, 8 * n, 16 * n, 8 * n], "peak": {"bytes": 16 * n, "point": 2}}
    return {"ok": True, "functions": [fun], "values": {"n": n}}


def interference() -> dict[str, Any]:
    """Three blocks, of which the first and the last share memory."""
    node = {"prim": "i64", "space": "device", "src": [[4, 1, 4, 11]]}
    node["bytes"] = [[8, "n_2"]]
    node |= {"escapes": False}
    lives = [("a_mem_1", 0, 1, 0), ("b_mem_3", 1, 2, 1), ("c_mem_4", 2, 3, 0)]
    body = {
        "where": "`main`",
        "src": [],
        "points": [{"label": f"x_{k} = segmap", "src": []} for k in range(4)],
        "nodes": [
            {**node, "name": name, "base": name[:5], "from": a, "until": b, "colour": c}
            for name, a, b, c in lives
        ],
        "edges": [{"a": 0, "b": 1, "at": 1, "until": 1}, {"a": 1, "b": 2, "at": 2, "until": 2}],
        "colours": [
            {"members": [0, 2], "bytes": [[8, "n_2"]], "saved": [[8, "n_2"]]},
            {"members": [1], "bytes": [[8, "n_2"]], "saved": ZERO},
        ],
    }
    return {"ok": True, "functions": [{"name": "main", "names": {"n_2": "n"}, "bodies": [body]}]}


def fusion() -> dict[str, Any]:
    """Nothing that could be fused."""
    return {"ok": True, "before": [], "after": [], "attempts": [], "names": {}}


def formulas() -> dict[str, Any]:
    """One function with one statement."""
    cost = {"work": "2*n", "span": "2", "moved": "8*n", "made": "4*n", "at_most": False}
    stm = {"text": "ys", "src": [[1, 1, 1, 5]], "depth": 0, "cost": cost, "free": False}
    main = {"name": "main", "cost": cost, "unknown": [], "statements": [stm]}
    return {"ok": True, "stage": "fused", "against": "", "functions": [main], "amounts": []}


def index_functions() -> dict[str, Any]:
    """A matrix that is as it is or transposed."""
    change = {
        "array": "`b`",
        "does": "branches",
        "index": "i, j",
        "forms": [
            {
                "generation": way,
                "text": text,
                "cell": cell,
                "copies": way == "structural",
                "because": because,
            }
            for way, text, cell, because in (
                ("structural", "RowMajor(n, n)", "i*n + j", "The branches differ in structure."),
                ("composed", "0 + {(n : l), (n : l₂)}", "i*l + j*l₂", ""),
                ("single", "0 + {(n : l), (n : l₂)}", "i*l + j*l₂", "The branches return l = 1."),
            )
        ],
        "in_memory": True,
        "tiles": "0 + {(n : 1)}",
        "src": [[4, 1, 4, 11]],
    }
    copies = {"structural": 1, "composed": 0, "single": 0}
    return {"ok": True, "functions": [{"name": "main", "changes": [change], "copies": copies}]}


def run_error(source: str) -> dict[str, Any]:
    """An index out of bounds at the word."""
    number, line = next((n, t) for n, t in enumerate(source.split("\n"), 1) if "FAILS" in t)
    column = line.index("FAILS") + 1
    error = {"kind": "runtime", "message": "Index [7] out of bounds for array of shape [3]."}
    error |= {"hint": ""}
    return {"ok": False, "error": {**error, "span": [number, column, number, column + 5]}}


def inputs(request: dict[str, Any]) -> str:
    """The input, or what random ones would be made of."""
    if "sizes" not in request:
        given: str = request.get("input", "")
        return given
    sizes = " ".join(f"{name}={size}" for name, size in request["sizes"].items())
    return f"{sizes} seed={request.get('seed', 1)}"


def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to one request."""
    source = request.get("source", "")
    if "SLEEP" in source:
        time.sleep(1000)
    if "DIE" in source:
        os._exit(3)
    if "HOARD" in source:
        hoard = [bytearray(1 << 20) for _ in range(400)]
        time.sleep(1000 + len(hoard))
    if "SLOW" in source:
        time.sleep(0.5)
    if "HUGE" in source:
        return [{"ok": True, "text": "x" * 3_000_000}]
    if "LITTER" in source:
        tempfile.mkstemp(suffix=".s")
    if "CHILD" in source:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        return [{"ok": True, "pids": [os.getpid(), child.pid], "folder": tempfile.gettempdir()}]
    return told(request)


def batch(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to its requests, one by one."""
    source, found = request["source"], []
    for number, one in enumerate(request["requests"]):
        parts = told({**one, "source": source, "stream": not request.get("whole")})
        found += [
            {"ok": True, "partial": True, "request": number, "answer": part} for part in parts
        ]
    return [*found, {"ok": True}]


def told(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to one request that comes to an end."""
    source = request.get("source", "")
    match request["op"]:
        case "batch":
            return batch(request)
        case "backends":
            ids = {"c": "", "cuda": "This machine has no GPU that CUDA can use.", "ref": ""}
            titles = {"c": "C, all cores", "ref": "Reference interpreter"}
            found = [
                {"id": name, "title": titles.get(name, "CUDA"), "missing": missing}
                for name, missing in ids.items()
            ]
            return [{"ok": True, "backends": found}]
        case "show":
            return show(request)
        case "check":
            return [check(request)]
        case "text" | "places" | "occurrences":
            return [of_texts(request)]
        case "run" if "ENDLESS" in source:
            time.sleep(1000)
        case "run" if "FAILS" in source:
            return [run_error(source)]
        case "run":
            output = inputs(request)
            made = {"output": output, "results": ["[]i64"], "backend": "ref"}
            return [{"ok": True, **made, "ms": 0.5, "total_ms": clock()}]
        case "memory":
            return [memory(request)]
        case "prove" | "cells" as op:
            return [prove(request) if op == "prove" else cells(request)]
        case "attempts":
            return [attempts(request)]
        case "bounds" | "accesses" as op:
            return [{"ok": True, "accesses": ACCESSES} if op == "bounds" else costs()]
        case "costs" | "tests" as op:
            nothing = {"costs": [], "sizes": {}, "unknown": []}
            return [{"ok": True, **({"tags": [], "cases": []} if op == "tests" else nothing)}]
        case "interference" | "index_functions" | "fusion" | "formulas" as op:
            found = {"interference": interference, "fusion": fusion, "formulas": formulas}
            return [found.get(op, index_functions)()]
        case "lifetimes":
            return [lifetimes(request)]
        case "tuning":
            return [{"ok": True, "trees": TREES}]
        case "validity":
            found: bool | None = None if "SLOWLY" in source else "DIFFERS" not in source
            fused = {"valid": True, "because": ""}
            verdicts = {"fused": fused, "funmem": {"valid": found, "because": "So."}}
            return [{"ok": True, "stages": verdicts}]
        case "generate":
            return [{"ok": True, "input": inputs(request), "sizes": {}}]
    error = {"kind": "usage", "message": f"Unknown operation `{request['op']}`.", "hint": ""}
    return [{"ok": False, "error": {**error, "span": None}}]


def costs() -> dict[str, Any]:
    """An access whose lanes are far apart."""
    counts = {"requests": 2, "lanes": 64, "bytes": 4096, "sectors": 64, "fewest": 8}
    samples = [{"warp": 0, "step": k, "lanes": [64 * n + 4 * k for n in range(32)]} for k in (0, 1)]
    access = {
        "kernel": "map_1",
        "line": 9,
        "text": "const int x_2 = xs_mem_3[i_4];",
        "src": [[1, 1, 1, 6]],
        "kind": "reads",
        "array": "xs_mem_3",
        "cell": "16 * i_4",
        "shared": False,
        "size": 4,
        "says": "32 lanes fetch 32 sectors, 12 % used; 4 would do",
        "predicted": {**counts, "passes": 0, "least": 0},
        "because": "",
        "samples": samples,
    }
    run = {"name": "map_1", "launches": 1, "blocks": 1, "requests": 2}
    made = {"kernels": [run], "accesses": [access], "faults": []}
    return {"ok": True, "sizes": {"n": 64}, **made, "observed": False, "because": ""}


def slowly(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The answers; `STUCK` has no second one."""
    for number, part in enumerate(answer(request)):
        if number and "STUCK" in request.get("source", ""):
            time.sleep(1000)
        yield part


def main() -> None:
    """Read requests until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "GARBAGE" in request.get("source", ""):
            said = request["source"].partition("GARBAGE ")[2]
            sys.stdout.write(said.replace('"id": 0', f'"id": {request["id"]}') + "\n")
            sys.stdout.flush()
        written = packing.packed if request.get("packed") else packing.line
        for part in slowly(request):
            sys.stdout.buffer.write(written({"id": request["id"], **part}))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
