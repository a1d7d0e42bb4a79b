"""What it takes to add a node to the core language: four files.

That is done here to a copy of the compiler, which then prints, reads, checks and runs a program
with the node, by both interpreters, and renames what is in it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = Path(__file__).parent.parent / "compiler"
EDITS = {
    "ir/nodes.py": (
        (
            "Fresh = ",
            '''@CORE.node("rotate({array}, by {steps}{dim? along {}})", fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Rotate:
    """A fresh array with the rows of `array` moved on by `steps`, i64, along a dimension."""

    array: Name
    steps: SE
    dim: int = 0


Fresh = Rotate | ''',
        ),
    ),
    "ir/verify_exp.py": (
        (
            "@handles(RULES, ir.Concat)",
            """@handles(RULES, ir.Rotate)
def _rotate(c: ScopeChecker, exp: ir.Rotate, pat: object) -> Types:
    array = c.array(exp.array)
    c.must(0 <= exp.dim < array.rank, f"no dimension {exp.dim}")
    c.scalar(exp.steps, "i64", "the steps")
    return (replace(array, mem=None),)


@handles(RULES, ir.Concat)""",
        ),
    ),
    "semantics/value.py": (
        (
            "@handles(_EXP, ir.Concat)",
            """@handles(_EXP, ir.Rotate)
def _rotate(m: Interpreter, exp: ir.Rotate, pat: Sequence[ir.Param]) -> Row:
    data, steps, cells = m.value(exp.array), int(m.se(exp.steps)), []
    for index in all_indices(data.shape):
        at = list(index)
        at[exp.dim] = (at[exp.dim] - steps) % data.shape[exp.dim]
        cells.append(part(data, tuple(at)))
    return [Elements(data.shape, cells)]


@handles(_EXP, ir.Concat)""",
        ),
    ),
    "semantics/arrays.py": (
        (
            "@handles(EXPS, ir.Concat)",
            """@handles(EXPS, ir.Rotate)
def _rotate(m: Evaluator, exp: ir.Rotate, pat: Sequence[ir.Param]) -> list[Data]:
    data, rank = m.array(exp.array), m.ranks[exp.array]
    return [np.roll(data, int(m.se(exp.steps)), data.ndim - rank + exp.dim)]


@handles(EXPS, ir.Concat)""",
        ),
    ),
}
"""What is put in the place of a text in each file."""
PROGRAM = """\
entry main [n_1] (xs_2: [n_1]i32, k_3: i64) : (r_4: [n_1]i32, q_5: [2][3]i32) =
  let (a_6: [n_1]i32) = rotate(xs_2, by k_3 + 1i64)
  let (b_7: [6]i32) = iota(6, 0i32, 1i32)
  let (c_8: [2][3]i32) = reshape([2][3], b_7)
  let (d_9: [2][3]i32) = rotate(c_8, by 1i64 along 1)
  in (a_6, d_9)
"""
ASKED = """
import json, sys
from compiler.analysis.effects import may_fail
from compiler.base.errors import CompilerBug
from compiler.driver.pipeline import verify
from compiler.ir import values, walk
from compiler.ir.parser import parse
from compiler.ir.printer import show_stm, show_text
from compiler.semantics import interp, value

text = sys.stdin.read()
prog = parse(text)
verify(prog, "soa")
verify(prog, "fused")
stm = prog.funs[0].body.stms[0]
try:
    verify(parse(text.replace("along 1", "along 2")), "soa")
except CompilerBug as error:
    refused = error.message
given = values.parse("[1,2,3,4] 0i64")
runs = [[values.show(v) for v in one.run(prog, "main", given)] for one in (interp, value)]
print(json.dumps({
    "text": show_text(prog), "free": sorted(walk.free(stm)), "runs": runs, "refused": refused,
    "renamed": show_stm(walk.subst(stm, {"xs_2": "ys_9"})), "fails": may_fail(stm.exp),
}))
"""


def test_four_files_print_read_check_and_run_a_node(tmp_path: Path) -> None:
    folder = tmp_path / "compiler"
    shutil.copytree(COMPILER, folder, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name, pairs in EDITS.items():
        text = (folder / name).read_text("utf-8")
        for old, new in pairs:
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        (folder / name).write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        input=PROGRAM,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("refused").endswith("no dimension 2")
    rows = ["[4i32, 1i32, 2i32, 3i32]", "[[2i32, 0i32, 1i32], [5i32, 3i32, 4i32]]"]
    assert found == {
        "text": PROGRAM,
        "free": ["k_3", "n_1", "xs_2"],
        "runs": [rows, rows],
        "renamed": "let (a_6: [n_1]i32) = rotate(ys_9, by k_3 + 1i64)",
        "fails": False,
    }


@pytest.mark.parametrize("name", EDITS)
def test_the_documents_name_the_file(name: str) -> None:
    text = (COMPILER.parent / "docs" / "dialects.md").read_text("utf-8")
    told = text[text.index("## How to add a node") :].partition("## Several")[0]
    assert f"`{name}`" in told
