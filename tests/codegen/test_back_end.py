"""A back end is a file of its own and one line: everything else reads the list of targets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.codegen.helpers import needs_cc

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"
PROGRAM = """
import json, sys
from compiler.protocol.kinds import OfProgram
from compiler.driver import targets
from tests.codegen.one_core import BACK_END
targets.BACK_ENDS += (BACK_END,)  # the line
targets.BY_ID[BACK_END.target.id] = BACK_END
from compiler.base.stack import with_deep_stack
from compiler.driver import api
from compiler.protocol import programs, runs
from testing import blocks
from pathlib import Path

def main():
    manifest, offered = api.manifest(None), api.backends(None)
    (stage,) = [one for one in manifest["stages"] if one["id"] == "one-core"]
    found = {"stage": stage, "offered": offered["backends"], "runs": []}
    for name in sys.argv[1:]:
        path = Path(name)
        source = path.read_text("utf-8")
        for case in blocks.read(path):
            if case.output is None:
                continue
            fun = api.entry_function(api.compilation(OfProgram(source)), case.entry)
            args = blocks.arguments(case, fun)
            answers = [
                api.run_values(OfProgram(source), case.entry, args, backend, "", 60)["values"]
                for backend in ("one-core", "ref")
            ]
            found["runs"].append([path.stem, *([v.tolist() for v in one] for one in answers)])
    text = api.compilation(OfProgram(source, {"target": "one-core"})).result("one-core").text
    found["pragmas"] = sum("#pragma omp" in line.text for line in text)
    print(json.dumps(found))

with_deep_stack(main)
"""


@needs_cc
def test_a_back_end_is_added_by_one_line() -> None:
    examples = [str(EXAMPLES / f"{name}.fut") for name in ("mapscan", "wavefront")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *examples], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["stage"]["machine"] == "one core"
    assert {"id": "one-core", "title": "C, one core", "missing": ""} in said["offered"]
    assert said["runs"]
    for name, found, expected in said["runs"]:
        assert found == expected or found == pytest.approx(expected), name
    assert said["pragmas"] <= 1  # the runtime's, for large copies
