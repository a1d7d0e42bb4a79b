"""Finding a C compiler, and libraries by content."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator

import numpy as np
import pytest

from compiler.base.errors import CompilerBug, UsageError
from compiler.base.text import plain
from compiler.target import cc, runner
from tests.target.helpers import compiled, needs_cc

SOURCE = (
    "def main [n] (xs: [n]f32): (f32, [n]f32, [n]i32) ="
    " (reduce (+) 0 xs, map f32.exp xs, scan (+) 0 (map i32.f32 xs))"
)


@needs_cc
def test_the_same_text_is_compiled_once() -> None:
    text = plain(compiled(SOURCE).result("c").text)
    first = cc.compile_c(text)
    made = first.stat().st_mtime_ns
    assert cc.compile_c(text) == first
    assert first.stat().st_mtime_ns == made
    assert cc.compile_c(text + "\n// other\n") != first


@needs_cc
def test_a_text_that_is_no_c_is_our_bug() -> None:
    with pytest.raises(CompilerBug) as caught:
        cc.compile_c("int f( {")
    assert "error" in caught.value.message


@pytest.fixture
def without_cc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    cc.find_compiler.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    yield
    cc.find_compiler.cache_clear()


def test_without_any_compiler_it_says_so(without_cc: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not runner.compiler_available()
    with pytest.raises(UsageError) as caught:
        cc.compile_c("")
    assert "ziglang" in caught.value.hint


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang not installed")
def test_the_zig_wheel_stands_in(without_cc: None) -> None:
    text = plain(compiled(SOURCE).result("c").text)
    xs = np.random.default_rng(1).random(100_000, dtype=np.float32) * 3
    result = runner.run_c(text, "main", [xs])
    assert "ziglang" in cc.find_compiler().command
    assert result.cores == 1
    np.testing.assert_allclose(result.values[0], xs.sum(dtype=np.float64), rtol=1e-5)
    np.testing.assert_allclose(result.values[1], np.exp(xs), rtol=1e-5)
    np.testing.assert_array_equal(result.values[2], np.cumsum(xs.astype(np.int32)))
