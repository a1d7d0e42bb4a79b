"""What a process imports before it answers: each module costs time at every start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.__main__ import main

ROOT = Path(__file__).parent.parent


def modules_after(code: str) -> set[str]:
    """The modules that a fresh process has imported when it has run `code`."""
    told = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def ours(modules: set[str]) -> set[str]:
    """The packages of ours that are among them, but for the front end's own parts."""
    names = {name for name in modules if name.split(".")[0] in ("app", "compiler")}
    return {".".join(name.split(".")[:2]) for name in names} - {"app", "compiler"}


MAIN = "from compiler.__main__ import main"
LIGHT = {"compiler.__main__", "compiler.base", "compiler.command_line"}
"""What the command line is before a command is called."""


def test_help_imports_the_table_of_commands_alone() -> None:
    code = f"{MAIN}\ntry: main(['--help'])\nexcept SystemExit: pass"
    found = modules_after(code)
    assert ours(found) == LIGHT
    assert not {name for name in found if name.startswith("compiler.command_line.commands")}


CHECKS = "algebra base codes driver frontend protocol"
"""What is imported to check a program: neither NumPy, nor what compiles, runs or proves."""


@pytest.mark.parametrize("text", ["entry main (x: i32) = x", "def main = )", "def f: i32 = true"])
def test_check_imports_the_front_end_alone(tmp_path: Path, text: str) -> None:
    program = tmp_path / "one.fut"
    program.write_text(text)
    found = modules_after(f"{MAIN}\nmain(['check', {str(program)!r}])")
    assert ours(found) == LIGHT | {f"compiler.{name}" for name in CHECKS.split()}
    driver = {name for name in found if name.startswith("compiler.driver.")}
    assert driver == {f"compiler.driver.{name}" for name in ("answers", "checking", "disk")}
    assert "numpy" not in found


def test_what_check_does_not_import_it_can_still_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "one.fut"
    program.write_text("entry main (x: i32) = x")
    given = ["--no-fma", "--fast-functions", "--disable", "fuse", "--target", "cuda"]
    assert main(["check", str(program), *given]) == 0
    assert main(["check", str(program), "--disable", "fus"]) == 2
    assert "Did you mean `fuse`?" in capsys.readouterr().err
    for wrong, says in ((["--target", "other"], "'c', 'cuda'"), (["--no-fmb"], "--no-fmb")):
        with pytest.raises(SystemExit) as done:
            main(["check", str(program), *wrong])
        assert done.value.code == 2
        assert says in capsys.readouterr().err
