"""What it takes to add a stage: a file with its pass, and its entry in `driver/pipeline.py`.

That is done here to a copy of the compiler, which then is asked for the stage: on the command line,
by the worker, with its pass switched off, and for what comes behind it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = Path(__file__).parent.parent / "compiler"
PASS = '''"""Dead code alone."""

from compiler.base.context import Ctx
from compiler.base.rules import Pass
from compiler.ir.nodes import Prog
from compiler.optimise.dead import remove_dead


def sweep(prog: Prog, ctx: Ctx) -> Prog:
    """The program without what nothing needs."""
    return Prog(tuple(remove_dead(fun)[0] for fun in prog.funs))


SWEEP = Pass("sweep", "Removes what nothing needs.", sweep, optional=True)
'''
ENTRY = """\
    Stage(
        "swept",
        "Swept",
        "Without dead code.",
        "ir",
        printer.show,
        (SWEEP,),
        forms.CALLS,
    ),
"""
BEHIND = '    Stage(\n        "simplified",\n'
IMPORT = "from compiler.optimise.simplify import SIMPLIFY\n"
SOURCE = "entry main (x: i64) (y: i64): i64 = let unused = x / 3 + y in x + 1\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiler, in which two files are other than here."""
    folder = tmp_path_factory.mktemp("product")
    shutil.copytree(
        COMPILER, folder / "compiler", ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    pipeline = folder / "compiler" / "driver" / "pipeline.py"
    text = pipeline.read_text("utf-8")
    assert text.count(BEHIND) == text.count(IMPORT) == 1
    text = text.replace(BEHIND, ENTRY + BEHIND)
    text = text.replace(IMPORT, IMPORT + "from compiler.optimise.sweep import SWEEP\n")
    pipeline.write_text(text, "utf-8")
    (folder / "compiler" / "optimise" / "sweep.py").write_text(PASS, "utf-8")
    (folder / "p.fut").write_text(SOURCE, "utf-8")
    return folder


def run(place: Path, *words: str, given: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": str(place)}
    command = [sys.executable, "-m", "compiler", *words]
    done = subprocess.run(
        command, cwd=place, env=environment, input=given, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_shows_it_and_can_switch_it_off(place: Path) -> None:
    before = run(place, "show", "p.fut", "--stage", "soa", "--verify")
    after = run(place, "show", "p.fut", "--stage", "swept", "--verify")
    assert "/ 3" in before
    assert "/ 3" not in after
    kept = run(place, "show", "p.fut", "--stage", "swept", "--disable", "sweep")
    assert "/ 3" in kept
    assert "sweep" in run(place, "show", "--help")


def test_the_worker_lists_it_and_goes_on_behind_it(place: Path) -> None:
    asked = [
        {"op": "manifest"},
        {"op": "run", "source": SOURCE, "input": "6i64 1i64", "backend": "ref", "stage": "swept"},
        {"op": "run", "source": SOURCE, "input": "6i64 1i64", "backend": "ref", "stage": "merged"},
    ]
    lines = "".join(json.dumps(one) + "\n" for one in asked)
    manifest, *runs = map(json.loads, run(place, "worker", given=lines).splitlines())
    ids = [stage["id"] for stage in manifest["stages"]]
    assert ids[ids.index("ad") + 1] == "swept"
    assert "sweep" in [switch["id"] for switch in manifest["switches"]]
    assert [answer.get("output") for answer in runs] == ["7i64", "7i64"]
