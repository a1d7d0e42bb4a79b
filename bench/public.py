"""Run `check` on programs of public repositories that Futhark accepts.

    python -m bench.public FOLDER

`public.json` names them: repositories, each with the commit and its programs. FOLDER has a clone of
each as `OWNER/NAME`, with its packages where `futhark pkg sync` leaves them. Repositories that are
not there keep what an earlier run found:

    git clone https://github.com/OWNER/NAME FOLDER/OWNER/NAME
    git -C FOLDER/OWNER/NAME checkout COMMIT

Futhark 0.25.32's own `futhark check` accepts every one of them.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from bench.machine import RESULTS, describe, save
from compiler.base.stack import with_deep_stack
from compiler.driver.worker import answer

LIST = Path(__file__).parent / "public.json"


def measure(folder: Path, listed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """For each repository that is there its commit and ours, and what becomes of its programs.

    `refused` has what those are told that `check` refuses. Errors: a program is not there.
    """
    found, version = {}, describe()["commit"]
    for repository, entry in listed.items():
        if not (folder / repository).is_dir():
            continue
        told = {path: _told(folder / repository / path) for path in entry["programs"]}
        found[repository] = {
            "commit": entry["commit"],
            "version": version,
            "programs": len(told),
            "refused": {path: why for path, why in told.items() if why},
        }
    return found


def _told(path: Path) -> str:
    """Return the reason why a program is refused; empty if it is not."""
    if not path.is_file():
        raise SystemExit(f"{path} is not there: `python -m bench.public --help` says what is.")
    os.chdir(path.parent)
    answered = answer({"op": "check", "path": path.name})
    error = answered.get("error", {})
    return f"{error['kind']}: {error['message']}" if error else ""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.resolve()
    figures: dict[str, Any] = json.loads((RESULTS / "public.json").read_text())["figures"]
    with_deep_stack(lambda: figures.update(measure(folder, json.loads(LIST.read_text()))))
    in_order = dict(sorted(figures.items(), key=lambda one: one[0].lower()))
    print(save("public", "python -m bench.public FOLDER", in_order))


if __name__ == "__main__":
    main()
