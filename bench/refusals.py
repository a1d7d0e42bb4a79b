"""Count how many refusals to build in place, for cells that may meet, are justified.

    python -m bench.refusals [NAME ..]

Each refused attempt of the programs in `bench/refusals.txt` is made all the same, and the program
run on small inputs: one of which no result ever differs is called unjustified.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from bench.machine import save, words
from testing.refusals import Refused, programs, refusals


def measured(names: list[str]) -> dict[str, Any]:
    """Counts, and the refusals that are not justified or cannot be tried."""
    chosen = [one for one in programs() if not names or one.name in names]
    found: list[Refused] = []
    for program in chosen:
        with np.errstate(all="ignore"):
            found += refusals(program)
    counts = Counter(one.verdict for one in found)
    return {
        "programs": len(chosen),
        "refused": len(found),
        "tried": len(found) - counts["barred"],
        "unjustified": counts["unjustified"],
        "barred": counts["barred"],
        "not justified": [_line(one) for one in found if one.verdict == "unjustified"],
        "not tried": [_line(one) for one in found if one.verdict == "barred"],
    }


def _line(one: Refused) -> str:
    return f"{one.program} ({one.rule}): {one.because}"


def main() -> None:
    """The command line."""
    names = words(__doc__, "NAME")
    figures = measured(names)
    for name, value in figures.items():
        print(f"{name}: {value}" if not isinstance(value, list) else "\n  ".join([name, *value]))
    if not names:
        save("refusals", "python -m bench.refusals", figures)


if __name__ == "__main__":
    main()
