"""What `import stridescope` offers: its examples, its errors, and that importing it is cheap."""

from __future__ import annotations

import doctest
import sys

import numpy as np
import pytest

from compiler import public
from compiler.public import library
from tests.test_start import modules_after

ADD = "entry main [n] (xs: [n]i32) (y: i32) = map (+ y) xs"


@pytest.mark.parametrize("module", [public, library], ids=lambda module: module.__name__)
def test_the_examples_are_true(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stridescope", public)
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert (found.failed, found.attempted > 0) == (0, True)


def test_every_public_name_is_there_and_has_a_description() -> None:
    for name in public.__all__:
        assert getattr(public, name).__doc__, name
    with pytest.raises(AttributeError):
        public.nothing  # noqa: B018


def test_importing_it_imports_nothing_else() -> None:
    found = modules_after("import compiler.public")
    ours = {name for name in found if name.startswith("compiler")}
    assert ours == {"compiler", "compiler.public"}
    assert "numpy" not in found


def test_results_are_numpy_values_of_the_types_of_the_program() -> None:
    (found,) = public.run(ADD, [1, 2], 3, backend="ref")
    assert (found.dtype, found.tolist()) == (np.dtype("int32"), [4, 5])
    (found,) = public.run(ADD, np.array([], dtype=np.int32), 3, backend="ref")
    assert found.shape == (0,)
    two = public.run("entry main (x: f32): (f32, bool) = (x, x > 1)", 1.1, backend="ref")
    assert two == (np.float32(1.1), np.True_)


@pytest.mark.parametrize(
    ("source", "args", "says"),
    [
        (ADD, ([1], 1 << 31), "`y` has type i32"),
        (ADD, ([1.5], 1), "`xs` has type i32"),
        (ADD, ([True], 1), "`xs` has type i32"),
        (ADD, ([[1]], 1), "`xs`"),
        (ADD, ([[1], [2, 3]], 1), "`xs` has no value"),
        (ADD, (np.array([1]), 1), "`xs` should be"),
        (ADD, ([1],), "takes 2 values and was given 1"),
        (ADD, ([1], 2, 3), "takes 2 values and was given 3"),
        ("entry main (x: {a: i32}) = x.a", (1,), "Only numbers"),
        ("entry main = y", (), "Unknown name"),
        ("entry main (x: i32) = 1 / x", (0,), "ivision"),
    ],
)
def test_what_is_wrong_is_told(source: str, args: tuple[object, ...], says: str) -> None:
    with pytest.raises(public.Error) as error:
        public.run(source, *args, backend="ref")
    assert says in error.value.message


def test_names_that_are_none_list_those_that_are() -> None:
    program = public.compile("entry main = 1i32")
    with pytest.raises(public.Error, match="There is no stage"):
        program.text("other")
    with pytest.raises(public.Error, match="There is no target"):
        public.compile("entry main = 1i32", target="other")
    with pytest.raises(public.Error, match="no entry point `other`"):
        program["other"]
    with pytest.raises(AttributeError, match="other"):
        program.other  # noqa: B018
    with pytest.raises(public.Error, match="no pass or rule"):
        public.compile("entry main = 1i32", disable=["other"])
    with pytest.raises(public.Error):
        public.prove("{(", "1")
    assert "void" in program.text()
    assert "__global__" in public.compile("entry main = iota 9", target="cuda").text()
    assert public.check("entry main (x: i32) = 1i32").warnings
