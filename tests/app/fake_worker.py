"""A worker for the server's tests: the protocol of the real one, and no compiler behind it.

Words in the source decide what happens: `SLEEP` never answers, `DIE` ends the process, `HOARD`
takes memory until it is stopped, `SLOW` takes half a second, `WRONG` is a type error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

MANIFEST = [
    {"id": "typed", "title": "Types", "explain": "Every expression has its type.", "kind": "typed"},
    {"id": "fused", "title": "Fused", "explain": "Producers join readers.", "kind": "ir"},
    {"id": "funmem", "title": "FUNMEM", "explain": "Arrays get their memory.", "kind": "ir"},
    {"id": "c", "title": "C", "explain": "Text for the C compiler.", "kind": "text"},
]


def stage(source: str, name: str) -> dict[str, Any]:
    """The source's own lines, each linked to itself."""
    lines = [
        {
            "text": f"let x_{number}: i64 = {text.strip()} -- {name}"
            + (" @ mem_1" * (name == "funmem")),
            "src": [[number, 1, number, len(text) + 1]],
            "node": number - 1,
        }
        for number, text in enumerate(source.splitlines(), 1)
        if text.strip()
    ]
    text = "".join(f"{line['text']}\n" for line in lines)
    return {"text": text, "lines": lines, "counts": {"map": source.count("map")}, "ms": 0.5}


def show(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Front-end stages first where the request streams."""
    source, wanted = request["source"], request.get("stages") or [s["id"] for s in MANIFEST]
    if "WRONG" in source:
        return [check(request)]
    made = {name: stage(source, name) for name in wanted}
    remark = {
        "kind": "applied",
        "rule": "fuse/map-map",
        "stage": "fused",
        "src": [[1, 1, 1, 4]],
        "because": "`ys` is read once.",
        "hint": "",
        "numbers": [["bytes saved", "4*n"]],
    }
    if not request.get("stream"):
        return [{"ok": True, "stages": made, "remarks": [remark]}]
    first, *rest = made
    return [
        {"ok": True, "partial": True, "stages": {first: made[first]}},
        {"ok": True, "stages": {name: made[name] for name in rest}, "remarks": [remark]},
    ]


def check(request: dict[str, Any]) -> dict[str, Any]:
    """One entry point, or one error."""
    for number, line in enumerate(request["source"].splitlines(), 1):
        if "WRONG" in line:
            column = line.index("WRONG") + 1
            error = {
                "kind": "type",
                "message": "Unknown name `WRONG`.",
                "hint": "Did you mean `RIGHT`?",
                "span": [number, column, number, column + 5],
            }
            return {"ok": False, "error": error}
    entries = [{"name": "main", "params": ["[]i64"], "results": ["i64"]}]
    return {"ok": True, "entries": entries, "warnings": []}


KERNEL = {"kind": "kernel", "operator": "segmap", "level": "grid", "space": [["i", "n"]]}
BRANCH = {"kind": "branch", "threshold": "enough_1", "amount": "n * 2", "default": 100, "also": ""}
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


def memory(request: dict[str, Any]) -> dict[str, Any]:
    """One array of n rows and m columns, stored by columns, each written by a thread of its own."""
    if request.get("kernel"):
        points = [{"point": [cell], "cells": [cell]} for cell in range(24)]
        return {"ok": True, "accesses": [{"array": "ys_1", "writes": True, "points": points}]}
    src = [[2, 1, 2, 5]]
    lmad = "0 + {(n : 1), (m : n)}"
    array = {"name": "ys_1", "base": "ys", "prim": "i64", "shape": ["n", "m"], "block": "ys_mem_2"}
    functions = [
        {
            "name": "main",
            "arrays": [{**array, "lmad": lmad, "symbols": ["m", "n"], "src": src}],
            "blocks": [{"name": "ys_mem_2", "count": "n*m", "prim": "i64", "space": "device"}],
            "kernels": [
                {
                    "name": "ys_1",
                    "kind": "segmap",
                    "level": "grid",
                    "space": [{"index": "i", "bound": "n"}],
                    "src": src,
                }
            ],
        }
    ]
    if not request.get("array"):
        return {"ok": True, "functions": functions}
    n, m = request["values"]["n"], request["values"]["m"]
    cells = [{"index": [i, j], "cell": i + j * n} for i in range(n) for j in range(m)]
    return {"ok": True, "block": "ys_mem_2", "cells": cells, "complete": True}


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
    match request["op"]:
        case "show":
            return show(request)
        case "check":
            return [check(request)]
        case "run":
            output = inputs(request) * (100_000 if "LONG" in source else 1)
            return [{"ok": True, "output": output, "ms": 0.5}]
        case "memory":
            return [memory(request)]
        case "tuning":
            return [{"ok": True, "trees": TREES}]
        case "validity":
            verdicts = {"fused": {"valid": True}, "funmem": {"valid": "DIFFERS" not in source}}
            return [{"ok": True, "stages": verdicts}]
        case "generate":
            return [{"ok": True, "input": inputs(request), "sizes": {}}]
    error = {"kind": "usage", "message": f"Unknown operation `{request['op']}`.", "span": None}
    return [{"ok": False, "error": error}]


def main() -> None:
    """Read requests until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        for part in answer(request):
            sys.stdout.write(json.dumps({"id": request["id"], **part}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
