"""The magic of notebooks, driven as IPython drives it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import public
from compiler.public.magic import CellShown, cell
from compiler.public.program import CompiledProgram
from tests.runtime.cuda_on_cpu import needs_cxx

SUMS = "entry main [n] (xs: [n]f64): f64 = f64.sum xs\n"


class Shell:
    """What of IPython's shell is used."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[tuple[str, str], Any] = {}

    def register_magic_function(self, func: Any, magic_kind: str, magic_name: str) -> None:
        self.magics[magic_kind, magic_name] = func


@pytest.fixture
def shell() -> Shell:
    made = Shell()
    public.load_ipython_extension(made)
    return made


def run(shell: Shell, line: str, text: str = SUMS) -> CellShown:
    found = shell.magics["cell", "stridescope"](line, text)
    assert isinstance(found, CellShown)
    return found


def test_a_cell_is_compiled_shown_and_run(shell: Shell) -> None:
    shell.user_ns["xs"] = np.arange(4.0)
    shown = run(shell, "sums --stage funmem --stage c --target ref --run 'xs + 1'")
    assert isinstance(shell.user_ns["sums"], CompiledProgram)
    titles = [part.title for part in shown.parts]
    assert titles == ["sums", "FUNMEM", "C", "main(xs + 1)"]
    assert shown.parts[0].text == "main(xs: [n]f64) -> f64"
    assert "segred" in shown.parts[1].text
    assert shown.parts[3].text == "np.float64(10.0)"
    assert "FUNMEM\nentry main" in repr(shown)
    page = shown._repr_html_()
    assert page.count("<details open>") == 4
    assert "<span style=" in page
    assert "main(xs + 1)" in page


def test_what_is_shown_is_no_markup(shell: Shell) -> None:
    shown = run(shell, "--target ref --run", "entry main: bool = 1i32 < 2i32")
    assert isinstance(shell.user_ns["program"], CompiledProgram)
    assert shown.parts[0].text == "main() -> bool"
    assert "-&gt; bool" in shown._repr_html_()


@needs_cxx
def test_accesses_are_those_of_the_kernels(shell: Shell) -> None:
    shown = run(shell, "--accesses n=512")
    told = shown.parts[1]
    assert told.title == "Accesses of main on a GPU"
    assert "n = 512" in told.text
    assert "sectors" in told.text


@pytest.mark.parametrize(
    ("line", "text", "says"),
    [
        ("", "entry main = y", "Unknown name `y`"),
        ("--stage other", SUMS, "There is no stage `other`"),
        ("--other", SUMS, "unrecognized arguments: --other"),
        ("1st", SUMS, "`1st` is not a valid Python name"),
        ("--accesses n", SUMS, "`n` is no size"),
        ("--target ref --run [1.5] 2", SUMS, "takes 1 value and was given 2"),
        ("--target ref --run", "entry one = 1i32 entry two = 2i32", ""),
        ("--run", "def f = 1i32", "no entry point `main`"),
    ],
)
def test_what_is_wrong_is_told_without_a_traceback(
    shell: Shell, line: str, text: str, says: str
) -> None:
    if not says:
        assert run(shell, line, text).parts[1].text == "np.int32(1)"
        return
    with pytest.raises(public.Error) as caught:
        cell(line, text, {})
    assert says in caught.value.message
    assert says in "\n".join(caught.value._render_traceback_())  # type: ignore[attr-defined]
