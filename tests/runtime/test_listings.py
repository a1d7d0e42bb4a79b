"""What other compilers make of our texts: each line where it is from, and what kernels take."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.base.errors import CompilerBug, UsageError
from compiler.base.text import Line, Text, plain
from compiler.codegen.cuda.program import split
from compiler.driver import api, explanations
from compiler.driver.pipeline import Compilation
from compiler.driver.targets import LISTINGS
from compiler.protocol.listings import ListingRequest
from compiler.runtime import cc, listings, nvdisasm, nvrtc
from compiler.runtime.listings import Listed
from compiler.sandbox import walls
from compiler.semantics import interp
from tests.codegen.helpers import compiled, needs_cc, needs_nvrtc

PROGRAM = """\
entry main [n] (xs: [n]f32) =
  map (\\x ->
    let y = x * x
    in f32.sqrt y + y) xs
"""
MULTIPLIES = {"asm": r"v?mul[sp]s ", "ptx": r"mul\.(rn\.)?f32", "sass": r"FMUL "}
needs = {"asm": needs_cc, "ptx": needs_nvrtc, "sass": needs_nvrtc}
each = pytest.mark.parametrize("name", [pytest.param(n, marks=needs[n]) for n in MULTIPLIES])


def made(name: str, source: str = PROGRAM) -> Listed:
    listing, target = LISTINGS[name]
    return listing.make(compiled(source, target.id).result(target.id).text)


def test_all_listings_are_tried() -> None:
    assert set(LISTINGS) == set(MULTIPLIES)


@each
def test_instructions_are_linked_to_what_they_compute(name: str) -> None:
    lines = made(name).text
    found = [line for line in lines if re.search(MULTIPLIES[name], line.text)]
    of_program = [line for line in found if line.src]
    assert of_program
    assert {line.src[0].line for line in of_program} == {3}
    assert not any(re.search(r"\.loc\b|\.cfi_|//##|\.debug", line.text) for line in lines)


@each
def test_a_line_of_the_text_stands_above_what_it_became(name: str) -> None:
    _, target = LISTINGS[name]
    text = compiled(PROGRAM, target.id).result(target.id).text
    told = 0
    for line in made(name).text:
        if said := re.match(r" *(?:#|//) (\d+): (.*?)(?: \.\.)?$", line.text):
            origin = text[int(said[1]) - 1]
            assert origin.text.strip().startswith(said[2])
            assert origin.src == line.src
            told += 1
    assert told > 3


@each
def test_every_jump_has_its_label(name: str) -> None:
    text = plain(made(name, "entry main (xs: []i64) (k: i64) = map (/ k) xs").text)
    labels = set(re.findall(r"^([.$][\w$.]+):", text, re.MULTILINE))
    pattern = {
        "asm": r"\bj\w+ (\.\w+)$",
        "ptx": r"bra(?:\.uni)? +(\$\w+)",
        "sass": r"`\((\.L_\w+)\)",
    }
    jumps = set(re.findall(pattern[name], text, re.MULTILINE))
    assert jumps
    assert jumps <= labels


@needs_nvrtc
@pytest.mark.parametrize("name", ["ptx", "sass"])
def test_a_program_without_kernels(name: str) -> None:
    found = made(name, "entry main (x: i32) = x + 1")
    assert found.kernels == ()
    assert "sm_90" in found.text[0].text


@needs_nvrtc
def test_what_kernels_take_is_what_their_code_says() -> None:
    source = "entry main [n][m] (a: [n][m]f32) = (map f32.sum a, transpose a |> map (map (+ 1)))"
    found = made("sass", source)
    text = plain(found.text)
    assert len(found.kernels) == len({use.kernel for use in found.kernels}) > 2
    for use in found.kernels:
        body = re.search(rf"^{use.kernel}:\n((?:[ .$].*\n)*)", text, re.MULTILINE)
        assert body is not None
        code = [line for line in body[1].split("\n") if re.match(r"    [0-9a-f]{4}", line)]
        assert len(code) == use.instructions > 5
        used = max(int(n) for n in re.findall(r"\bR(\d+)\b", "\n".join(code)))
        assert used < use.registers
        assert (use.shared > 0) == ("STS" in body[1])
        assert use.spilled == 0
        row = next(line for line in text.split("\n") if line.startswith(f"// {use.kernel} "))
        assert row.split()[2:4] == [str(use.instructions), str(use.registers)]
    head = text[text.index("// kernel") :].partition("\n\n")[0].split("\n")
    assert len(head) == len(found.kernels) + 1
    assert len({len(row) for row in head}) == 1
    longest = max(len(use.kernel) for use in found.kernels)
    assert len(head[0]) <= longest + 49, "a screen of 1366 pixels has room for 58 characters"


ROUNDED = "entry main [n] (xs: [n]f32) (ys: [n]f32) = map2 (\\x y -> x * x - y) xs ys"


def rounded(fma: bool) -> Text:
    """The CUDA text."""
    disabled = frozenset(() if fma else ("kernels/fma",))
    return compiled(ROUNDED, "cuda", disabled=disabled).result("cuda").text


@needs_nvrtc
@pytest.mark.parametrize("fma", [False, True])
def test_a_product_and_a_sum_are_one_instruction_unless_that_is_off(fma: bool) -> None:
    """What that changes: of a product of 48 bits and its rounded value the difference is not 0."""
    text = rounded(fma)
    code = plain(listings.sass(text).text)
    assert set(re.findall(r"\b(FMUL|FADD|FFMA)\b", code)) == ({"FFMA"} if fma else {"FMUL", "FADD"})
    assert ("mul.rn.f32" in plain(listings.ptx(text).text)) != fma
    assert "--fmad=false" in code.split("\n")[0]
    x = np.array([1 + 2**-12], np.float32)
    meaning = compiled(ROUNDED).result("soa").prog
    assert interp.run(meaning, "main", [x, x * x])[0].tolist() == [0]
    meaning = compiled(ROUNDED.replace("x * x - y", "f32.fma x x (-y)")).result("soa").prog
    assert interp.run(meaning, "main", [x, x * x])[0].tolist() == [2**-24]


@needs_nvrtc
def test_machine_code_is_kept_apart_by_how_products_are_rounded() -> None:
    texts = [rounded(False), rounded(True)]
    assert len({nvrtc.kept(split(plain(t))[0], 90, nvrtc.version()) for t in texts}) == 2


@pytest.mark.parametrize(
    ("registers", "shared", "blocks"),
    [
        *((16, 0, 8), (32, 0, 8), (33, 0, 6), (64, 0, 4), (65, 0, 3), (128, 0, 2), (255, 0, 1)),
        *((32, 28 << 10, 7), (32, 27 << 10, 8), (32, 48 << 10, 4), (1, 1, 8)),
    ],
)
def test_room_on_a_multiprocessor(registers: int, shared: int, blocks: int) -> None:
    """256 threads of compute capability 9.0, by the tables of NVIDIA's programming guide."""
    assert listings.blocks_at_once(registers, shared) == blocks


@needs_nvrtc
def test_the_tool_that_shows_instructions_reaches_nothing(tmp_path: Path) -> None:
    """In its place, a program that tries; it sees the machine code."""
    if not walls.state().layers.get("landlock") and not walls.state().layers.get("bubblewrap"):
        pytest.skip("no wall here keeps files away")
    secret = tmp_path / "secret"
    secret.write_text("open")
    tool = Path(sys.prefix) / "bin" / "stridescope-tried"
    tool.write_text(f'#!/bin/sh\nread -r x < "$3"; echo "$x"; cat {secret}; exit 0\n')
    tool.chmod(0o755)
    try:
        assert nvdisasm.instructions(b"machine code\n", str(tool)) == "machine code\n"
    finally:
        tool.unlink()
    with pytest.raises(CompilerBug, match="nvdisasm refused"):
        nvdisasm.instructions(b"none", nvdisasm.find())


@needs_nvrtc
def test_where_a_tool_is_missing_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "packaged", lambda _: [])
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(UsageError, match="nvdisasm") as caught:
        made("sass")
    assert "stridescope[cuda13]" in caught.value.hint
    monkeypatch.setattr(nvrtc.ctypes, "CDLL", lambda _: (_ for _ in ()).throw(OSError))
    nvrtc.library.cache_clear()
    try:
        with pytest.raises(UsageError, match="NVRTC"):
            made("ptx")
    finally:
        monkeypatch.undo()
        nvrtc.library.cache_clear()


def test_a_listing_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        explanations.listing(ListingRequest(PROGRAM, listing="bytecode"))
    assert "asm, ptx, sass" in caught.value.hint


@needs_nvrtc
def test_a_text_that_is_no_cuda_is_our_bug() -> None:
    work = Compilation(PROGRAM, replace(api.options_from({}), target="cuda"))
    broken = (Line("__global__ void f( {"), *work.result("cuda").text)
    with pytest.raises(CompilerBug, match="error"):
        listings.ptx(broken)


@needs_cc
def test_a_compile_makes_no_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, maker in ((cc, "assembly"), (nvrtc, "with_lines")):
        monkeypatch.setattr(module, maker, lambda *_: pytest.fail("it was made"))
    for target in ("c", "cuda"):
        assert compiled(PROGRAM, target).result(target).text
