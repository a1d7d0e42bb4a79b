"""Sanitisers report each access outside of its block with its place, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.__main__ import main
from compiler.base.errors import RuntimeError_, UsageError
from compiler.base.text import Text, plain
from compiler.driver.worker import answer
from compiler.runtime import runner, sanitize
from compiler.runtime.cc import compile_c
from compiler.semantics import interp
from testing.kernels import same
from tests.codegen.helpers import compiled

pytestmark = pytest.mark.skipif(
    not runner.compiler_available() or not sanitize.available(), reason="no sanitisers"
)

TWO_LINES = "entry main [n] (xs: [n]i32) =\n  map (+ 1) xs\n"


def broken(source: str, old: str, new: str) -> Text:
    """The C text of a program with `old` replaced where it stands; the lines keep their places."""
    text: Text = compiled(source).result("c").text
    assert old in plain(text)
    return tuple(replace(line, text=line.text.replace(old, new)) for line in text)


@pytest.mark.parametrize("away", [5, 6, -1, -16])
@pytest.mark.parametrize("access", ["read", "write"])
def test_an_access_outside_of_a_block_has_its_place(away: int, access: str) -> None:
    text = compiled(TWO_LINES).result("c").text
    store = next(line.text.strip() for line in text if line.text.strip().endswith("+ 1;"))
    block, index = store.split("[")[0], store.split("[")[1].split("]")[0]
    made = f"{block}[{index} + {away}] = 1;" if access == "write" else ""
    read = f"{store.replace(' + 1;', '')} + {block}[{index} + {away}];" if access == "read" else ""
    text = broken(TWO_LINES, store, made or read)
    with pytest.raises(sanitize.Report) as caught:
        runner.run_c(
            text,
            "main",
            [np.arange(1, dtype=np.int32)[[0] * 5]],
            settings=runner.Settings(sanitized=True),
        )
    assert caught.value.kind == "internal"
    assert f"{access} of size 4" in caught.value.message
    assert caught.value.span.line == 2
    assert "AddressSanitizer" in caught.value.report


def test_the_last_byte_of_a_block_is_its_last() -> None:
    source = "entry main (xs: []u8) = map (+ 1) xs"
    text = compiled(source).result("c").text
    store = next(line.text.strip() for line in text if line.text.strip().endswith("+ 1);"))
    index = store.split("[")[1].split("]")[0]
    for size in (1, 7, 63, 64, 65):
        xs = np.zeros(size, np.uint8)
        assert (
            runner.run_c(text, "main", [xs], settings=runner.Settings(sanitized=True))
            .values[0]
            .tolist()
            == [1] * size
        )
        wrong = broken(source, f"[{index}] =", f"[{index} + 1] =")
        with pytest.raises(sanitize.Report):
            runner.run_c(wrong, "main", [xs], settings=runner.Settings(sanitized=True))


def test_a_block_given_back_is_not_used_again() -> None:
    source = "entry main [n] (xs: [n]i64) = let ys = scan (+) 0 xs in ys[n - 1]"
    text = compiled(source).result("c").text
    drop = next(line.text.strip() for line in text if line.text.startswith("    ss_drop("))
    name = drop.removeprefix("ss_drop(").removesuffix(");")
    again = f"{drop} ss_alloc(9, 8); {name}[0] = 7;"
    with pytest.raises(sanitize.Report) as caught:
        runner.run_c(
            broken(source, drop, again),
            "main",
            [np.arange(9)],
            settings=runner.Settings(sanitized=True),
        )
    assert "use-after-free" in caught.value.message


def test_undefined_behaviour_has_its_place() -> None:
    wrong = broken(TWO_LINES, " + 1;", " << (in[0] + 40);")
    with pytest.raises(sanitize.Report) as caught:
        runner.run_c(
            wrong, "main", [np.arange(5, dtype=np.int32)], settings=runner.Settings(sanitized=True)
        )
    assert "shift exponent" in caught.value.message
    assert caught.value.span.line == 2


INTEGERS = """
entry main (a: TYPE) (b: TYPE) (s: TYPE) =
  let safe = if b == 0 then 1 else b
  in ([a + b, a - b, a * b, -a, a << s, a >> s, a / safe, a % safe, TYPE.abs a],
      [a // safe, a %% safe, a ** 3, !a, a ^ b], [TYPE.i64 (i64.TYPE a), TYPE.f64 (f64.TYPE b)],
      TYPE.mul_hi a b, TYPE.mad_hi a b s, TYPE.popc a, TYPE.clz a, TYPE.ctz a)
"""


@pytest.mark.parametrize("prim", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def test_arithmetic_that_wraps_is_no_error(prim: str) -> None:
    work = compiled(INTEGERS.replace("TYPE", prim))
    text, soa = work.result("c").text, work.result("soa").prog
    dtype = np.dtype(f"{prim[0]}{int(prim[1:]) // 8}")
    limits = np.iinfo(dtype)
    values = [dtype.type(v) for v in {limits.min, limits.max, limits.max // 2 + 1, 0, 1}]
    values += [] if prim[0] == "u" else [dtype.type(-1)]
    for a in values:
        for b in values:
            for s in (dtype.type(0), dtype.type(int(prim[1:]) - 1), limits.max, limits.min):
                args = [a, b, dtype.type(s)]
                found = runner.run_c(
                    text, "main", args, settings=runner.Settings(cores=1, sanitized=True)
                ).values
                same(found, interp.run(soa, "main", args))


def test_failed_checks_are_errors_of_the_program() -> None:
    text = compiled("entry main (xs: []i64) (k: i64) = xs[k]").result("c").text
    for _ in range(2):
        with pytest.raises(RuntimeError_) as caught:
            runner.run_c(
                text, "main", [np.arange(3), np.int64(3)], settings=runner.Settings(sanitized=True)
            )
        assert "Index [3] out of bounds" in caught.value.message
    found = runner.run_c(
        text, "main", [np.arange(3), np.int64(2)], settings=runner.Settings(sanitized=True)
    )
    assert found.values == [2]


def test_more_memory_than_there_is_stays_an_ordinary_error() -> None:
    text = compiled("entry main (n: i64) = scan (+) 0 (iota n)").result("c").text
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(text, "main", [np.int64(1 << 45)], settings=runner.Settings(sanitized=True))
    assert "There is not enough memory" in caught.value.message


def test_the_command_line_runs_under_sanitisers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.fut").write_text(TWO_LINES)
    (tmp_path / "in").write_text("[1, 2]")
    asked: list[bool] = []

    def noted(text: str, flags: Sequence[str]) -> Path:
        asked.append(set(sanitize.FLAGS) <= set(flags))
        return compile_c(text, flags)

    monkeypatch.setattr(runner, "compile_c", noted)
    given = ["run", str(tmp_path / "p.fut"), "--input", str(tmp_path / "in")]
    assert main([*given, "--sanitize"]) == 0
    assert main(given) == 0
    assert asked == [True, False]
    assert capsys.readouterr().out == "[2i32, 3i32]\n" * 2


@pytest.mark.parametrize(
    ("options", "backend", "says"),
    [
        ({"sanitize": 1}, "c", "`sanitize` is true or false."),
        ({"sanitize": True}, "ref", "Only the backend `c` runs under sanitisers."),
    ],
)
def test_wrong_uses_are_refused(options: dict[str, object], backend: str, says: str) -> None:
    request = {"op": "run", "source": TWO_LINES, "input": "[1]", "backend": backend}
    found = answer({**request, "options": options})
    assert not found["ok"]
    assert found["error"]["message"] == says


def test_a_compiler_without_sanitisers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise UsageError("The C compiler of this machine has no sanitisers.")

    monkeypatch.setattr(sanitize, "library", missing)
    request = {"op": "run", "source": TWO_LINES, "input": "[1]", "options": {"sanitize": True}}
    assert "no sanitisers" in answer(request)["error"]["message"]
