"""Every example program is valid after each memory pass, on the inputs whose output it knows.

Others are too large for the heap semantics, which goes cell by cell.
"""

from pathlib import Path

import pytest

from compiler.base.context import Options
from compiler.explain import validity
from testing import blocks
from testing.attempts import versions
from testing.compiling import compiled, different

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_examples_are_valid(path: Path, target: str) -> None:
    cases = [case for case in blocks.read(path) if case.output is not None]
    assert cases, "an example needs an input"
    work = compiled(path.read_text(), Options(target=target))
    for _, prog in different(work, ("funmem", "shortcircuit", "expanded", "merged")):
        for case in cases:
            fun = next(f for f in prog.funs if f.name == case.entry)
            for thresholds in versions(prog):
                outcome = validity.check(prog, case.entry, blocks.arguments(case, fun), thresholds)
                assert outcome.verdict == "valid", outcome.because
