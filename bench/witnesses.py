"""Refusals of random programs that name values, each checked to be real (`testing/witnesses.py`).

python -m bench.witnesses --programs 400
"""

from __future__ import annotations

import argparse

import numpy as np

from testing.witnesses import measure


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description="Refusals that name values: are they real?")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with np.errstate(all="ignore"):
        counts = measure(range(args.seed, args.seed + args.programs))
    for name, count in sorted(counts.items()):
        print(f"{name:16} {count}")


if __name__ == "__main__":
    main()
