"""Run programs of NumPy, numexpr, numba, JAX and SciPy in the environment that has these.

`python rivals.py FOLDER THREADS` reads a line of JSON for each measurement: which rival, the body
of its function (`tasks.py`), and how many seconds. It answers the least milliseconds of a run.
Inputs are in `FOLDER/inputs.npz`; results of the first run of a rival go to `FOLDER/NAME.npz`. With
one thread times are those of the processor, else of the clock.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

HEADS = {
    "numpy": "import numpy as np\n",
    "scipy": "import numpy as np, scipy.fft\n",
    "numexpr": "import numexpr as ne\n",
    "numba": "import numpy as np\nfrom numba import njit, prange\n",
    "jax": "import jax, jax.numpy as jnp, numpy as np\n",
}


def function(name: str, takes: str, body: str, parallel: bool) -> Callable[..., Any]:
    """The function of a rival's program, compiled by what it is written for."""
    inside = "".join(f"    {line}\n" for line in body.split("\n"))
    mark = {
        "numba": f"@njit(parallel={parallel}, fastmath=True)\n",
        "jax": "@jax.jit\n",
    }.get(name, "")
    known: dict[str, Any] = {}
    exec(f"{HEADS[name]}{mark}def f({', '.join(takes.split())}):\n{inside}", known)
    made: Callable[..., Any] = known["f"]
    if name != "jax":
        return made
    return lambda *given: known["jax"].block_until_ready(made(*given))


def least(run: Callable[[], Any], seconds: float, clock: Callable[[], float]) -> float:
    """The least milliseconds of runs that take so many seconds, three at least."""
    found: list[float] = []
    while len(found) < 3 or sum(found) < seconds:
        start = clock()
        run()
        found.append(clock() - start)
    return min(found) * 1000


def main() -> None:
    """Answer until there is nothing more to read."""
    folder, threads = sys.argv[1], int(sys.argv[2])
    clock = time.process_time if threads == 1 else time.perf_counter
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    import numpy as np

    file = np.load(f"{folder}/inputs.npz")
    inputs = [file[f"arr_{k}"] for k in range(len(file.files))]
    inputs = [value if value.shape else value[()] for value in inputs]
    ready: dict[str, Callable[[], Any]] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        name = asked["name"]
        try:
            if name not in ready:
                made = function(name, asked["takes"], asked["body"], threads > 1)
                given = inputs
                if name == "jax":
                    given = [importlib.import_module("jax.numpy").asarray(x) for x in inputs]
                ready[name] = partial(made, *given)
                found = ready[name]()
                found = found if isinstance(found, tuple) else (found,)
                np.savez(f"{folder}/{name}.npz", *map(np.asarray, found))
            answer: dict[str, Any] = {"ms": least(ready[name], asked["seconds"], clock)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
