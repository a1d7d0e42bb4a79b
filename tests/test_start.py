"""What a process imports before it answers: each module costs time at every start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def modules_after(code: str) -> set[str]:
    """The modules that a fresh process has imported when it has run `code`."""
    told = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_the_front_end_needs_no_numpy() -> None:
    code = "from compiler.frontend import edited\nedited.checked('entry main = 1i32', {}, '', '')"
    assert "numpy" not in modules_after(code)
