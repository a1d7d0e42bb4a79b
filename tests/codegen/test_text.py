"""C and CUDA texts: provenance, numbers of statements, and what readers should find."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.base.text import Line, plain
from tests.codegen.helpers import compiled

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"

SOURCE = """\
entry sums [n] [m] (xss: [n][m]f32): [n]f32 =
  map (reduce (+) 0) xss

entry main [n] (xs: [n]f32) (is: [n]i64): ([n]f32, f32) =
  let ys = map (\\i -> xs[i] * 2) is
  in (ys, reduce f32.max 0 ys)
"""


def lines(target: str) -> tuple[Line, ...]:
    return compiled(SOURCE, target).result(target).text


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_lines_know_where_they_come_from(target: str) -> None:
    text = lines(target)
    found = {span.line for line in text for span in line.src if not span.file}
    assert {2, 5, 6} <= found
    multiplication = [line for line in text if " * 2.0f" in line.text]
    assert multiplication
    assert all(any(span.line == 5 for span in line.src) for line in multiplication)


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_a_number_stands_for_one_statement(target: str) -> None:
    places: dict[int, set[object]] = {}
    for line in lines(target):
        if line.node >= 0:
            places.setdefault(line.node, set()).add(line.src)
    assert len(places) > 10
    assert all(len(found) == 1 for found in places.values())


def test_c_reads_like_c() -> None:
    text = plain(lines("c"))
    assert "int entry_main(const int64_t *in, int64_t *out) {" in text
    assert "#pragma omp parallel for" in text
    assert "reduction(max:" in text
    assert "reduction(+:" in text
    assert "goto next_" in text
    assert "\t" not in text


def test_only_helpers_that_are_used_are_there() -> None:
    text = plain(compiled("def main (x: i32): i32 = x + 1").result("c").text)
    assert "ss_copy" not in text
    assert "ss_parts" not in text
    assert "div_i32" not in text
    assert "div_i32" in plain(compiled("def main (x: i32): i32 = x / 7").result("c").text)


def test_a_text_is_the_same_in_every_process() -> None:
    """Also where a kernel takes several names that only an LMAD mentions."""
    program = str(Path(__file__).parents[1] / "lower" / "programs" / "lmads.fut")
    assert "__global__" in same_in_every_process("show", program, "--stage", "cuda")


def test_a_kernel_reads_numbers_on_the_device_in_the_same_order_in_every_process(
    tmp_path: Path,
) -> None:
    path = tmp_path / "several.fut"
    path.write_text(
        "def main (xs: [5]f32) (ys: []f32): []f32 =\n"
        "  let e = f32.sin (xs[0] * xs[1] - xs[2] * xs[3] + xs[4])\n"
        "  in map (\\y -> y * e) ys\n"
    )
    assert "_there" in same_in_every_process("show", str(path), "--stage", "kernels")


def test_remarks_are_the_same_in_every_process(tmp_path: Path) -> None:
    """Also where one of several arrays is the reason."""
    path = tmp_path / "pairs.fut"
    path.write_text(
        "def main [n] (xs: [n](i32, i32)) (is: [n]i64) =\n"
        "  loop xs = copy xs for _i < 3 do\n"
        "    let vs = map (\\i -> let (a, b) = xs[i] in (a + 1, b + a)) is\n"
        "    in scatter xs is vs\n"
    )
    remarks = {
        in_a_process(seed, "show", str(path), "--stage", "fused", "--remarks") for seed in "1245"
    }
    (text,) = remarks
    assert "`vs0` is computed from `xs0`" in text


def test_a_certificate_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Also where the sizes of several arrays are added up."""
    path = tmp_path / "proofs.json"
    program = str(EXAMPLES / "concatenation.fut")
    certificates = set()
    for seed in "12":
        in_a_process(seed, "attempts", program, "--certificate", str(path))
        certificates.add(path.read_text())
    assert len(certificates) == 1


def same_in_every_process(*arguments: str) -> str:
    """What a command prints, whatever the order of sets."""
    (text,) = {in_a_process(seed, *arguments) for seed in "12"}
    return text


def in_a_process(hash_seed: str, *arguments: str) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "compiler", *arguments]
    env = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
