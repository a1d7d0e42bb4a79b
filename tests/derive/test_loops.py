"""Reverse mode of loops: whose arrays change size, and which are gone over in segments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.runtime import runner
from compiler.semantics import interp, value
from testing.compiling import compiled
from tests.derive.helpers import close

SOURCE = Path(__file__).with_name("loops.fut").read_text("utf-8")
F = np.float64
X, XS = F(1.3), np.array([3, 1, 2, 0.5], F)
INPUTS: dict[str, Any] = {
    **dict.fromkeys(("growing", "recursive", "until", "nested", "twice", "small_counter"), X),
    **dict.fromkeys(("forward_growing", "branching"), X),
    **dict.fromkeys(("strip1", "strip2", "strip3", "strip5"), X),
    **dict.fromkeys(("in_place", "in_map", "filtered", "shrinking"), XS),
}
ROUNDS = (0, 1, 2, 3, 10)
ALWAYS = (("ad/checkpoints/whole", 0),)


def arguments(entry: str, rounds: int) -> list[Any]:
    """A point, and how often the loop goes round."""
    kind = np.int8 if entry == "small_counter" else np.int64
    return [INPUTS[entry], kind(rounds)]


@pytest.fixture(scope="module")
def work() -> Compilation:
    return compiled(SOURCE, Options(verify=True, limits=ALWAYS))


@pytest.mark.parametrize("entry", INPUTS)
def test_slopes_are_those_of_numbers_that_know_their_parents(work: Compilation, entry: str) -> None:
    for rounds in ROUNDS:
        args = arguments(entry, rounds)
        expected = value.run(work.result("soa").prog, entry, args)
        for stage in ("ad", "merged"):
            found = interp.run(work.result(stage).prog, entry, args)
            assert close(found, expected), f"{rounds} rounds, {stage}: {found} and not {expected}"


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
def test_c_gives_the_same(work: Compilation) -> None:
    text = plain(work.result("c").prog)
    for entry in INPUTS:
        for rounds in (0, 3, 10):
            args = arguments(entry, rounds)
            expected = value.run(work.result("soa").prog, entry, args)
            found = runner.run_c(text, entry, args).values
            assert close(found, expected), f"{entry}, {rounds} rounds: {found}"


LONG = (
    "entry main (x: f64) (n: i64) =\n"
    "  vjp (\\x -> {} loop a = x for i < n do f64.sin (a * x + f64.i64 (i % 7))) x 1"
)


def _peaks(options: Options, attribute: str = "") -> list[int]:
    """The most memory in use at once, for 10^2, 10^4 and 10^6 rounds."""
    text = plain(compiled(LONG.format(attribute), options).result("c").prog)
    runs = [runner.run_c(text, "main", [X, np.int64(n)]) for n in (100, 10_000, 1_000_000)]
    return [run.peak_bytes for run in runs]


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
def test_memory_in_segments_grows_with_the_root_of_the_rounds() -> None:
    for options, attribute in ((Options(limits=ALWAYS), ""), (Options(), "#[stripmine]")):
        few, more, most = _peaks(options, attribute)
        assert more < 12 * few
        assert most < 12 * more
    off = Options(disabled=frozenset(("ad/checkpoints",)))
    few, more, most = _peaks(off, "#[stripmine]")
    assert most > 90 * more > 8000 * few
    few, _, most = _peaks(Options(), "#[stripmine(3)]")
    assert most < 25 * few


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
def test_a_short_loop_has_a_whole_tape() -> None:
    """The stride is chosen when the program runs: one segment up to the bytes of the limit."""
    usual = _peaks(Options())
    never = _peaks(Options(disabled=frozenset(("ad/checkpoints",))))
    for mine, whole in zip(usual, never, strict=True):
        assert whole <= mine < whole + 100


@pytest.mark.parametrize(
    ("attribute", "said"),
    [("", "If a full tape would exceed"), ("#[stripmine]", "nested segments, 1 levels deep")],
)
def test_segments_are_told_at_the_loop(attribute: str, said: str) -> None:
    work = compiled(LONG.format(attribute))
    work.result("ad")
    (told,) = [remark for remark in work.remarks() if remark.rule == "ad/checkpoints"]
    assert said in told.because
    assert told.at[0].line == 2
