"""The kernel IR's text reads back, in all code versions, and every statement has a form."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from compiler.base.errors import SyntaxError_
from compiler.base.text import plain
from compiler.codegen.imp.nodes import Stm
from compiler.codegen.imp.parser import ImpParser
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels import printer
from compiler.codegen.kernels.parser import KernelParser, parse
from compiler.codegen.kernels.verify import verify
from compiler.driver.pipeline import Compilation, Options
from compiler.driver.targets import target_named
from testing import kernel_interp, kernels
from tests.codegen.test_imp_text import EXAMPLES, without_prov
from tests.runtime.test_kernel_interp import with_kernels
from tests.runtime.test_programs import CASES

CAS = "entry main [n] (xs: [n]f32) (is: [n]i64) = reduce_by_index (replicate 3 1f32) (*) 1 is xs"
LOCK = (
    "entry main [n] (xs: [n]f32) (is: [n]i64) = "
    "reduce_by_index (replicate 3 (1f32, 1f32)) (\\(a, b) (c, d) -> (a * c, a * d + b * c)) (1, 0) "
    "is (zip xs xs)"
)


@pytest.mark.parametrize("version", kernels.VERSIONS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_read_back(path: Path, version: str) -> None:
    check(path.read_text("utf-8"), version)


@pytest.mark.parametrize("name", CASES)
def test_programs_read_back(name: str) -> None:
    check(CASES[name][0], "outer")


def check(source: str, version: str) -> None:
    prog = with_kernels(source, version)
    text = plain(printer.show(prog))
    assert parse(text) == without_prov(prog)
    assert plain(printer.show(parse(text))) == text


def test_every_statement_of_threads_has_a_form_that_reads_back() -> None:
    seen: set[type[Stm]] = set()
    sources = [CAS, LOCK, *(p.read_text("utf-8") for p in EXAMPLES if p.stem == "histogram")]
    sources += [p.read_text("utf-8") for p in EXAMPLES if p.stem in ("mapscan", "dot_product")]
    for source in sources:
        check(source, "outer")
        for fun in with_kernels(source).funs:
            seen |= {type(stm) for stm in statements(fun.body)}
    # That those of scans in one pass read back is tested in `runtime/test_look_back.py`.
    one_pass = kernels.compiled("entry main (xs: []i32) = scan (+) 0 xs", "outer", look_back=True)
    for fun in one_pass.result("kernels").prog.funs:
        seen |= {type(stm) for stm in statements(fun.body)}
    own = {kind for kind in vars(k).values() if isinstance(kind, type) and issubclass(kind, Stm)}
    assert own - {Stm} <= seen


@pytest.mark.parametrize(
    ("source", "expected"),
    [(CAS, [[3.0, 2.0, 1.0]]), (LOCK, [[3.0, 2.0, 1.0], [9.0, 4.0, 1.0]])],
    ids=["exchanged", "locked"],
)
def test_what_is_read_back_means_the_same(source: str, expected: list[list[float]]) -> None:
    read = parse(plain(printer.show(with_kernels(source))))
    args = [np.array([1, 2, 3], np.float32), np.array([0, 1, 0], np.int64)]
    assert [one.tolist() for one in kernel_interp.run(read, "main", args)] == expected


@pytest.mark.parametrize(
    ("line", "wrong", "words"),
    [
        (" in ", " at ", "expected `in`"),
        (" points {", " threads {", "expected `blocks` or `points`"),
        ("exchange ", "exchange 4 ", "expected a name"),
        ("exit if ", "exit ", "expected `if`"),
    ],
)
def test_errors_have_a_place(line: str, wrong: str, words: str) -> None:
    text = plain(printer.show(with_kernels(CAS)))
    assert line in text, text
    with pytest.raises(SyntaxError_, match=words) as caught:
        parse(text.replace(line, wrong))
    assert caught.value.span.line > 1


def test_the_one_in_the_documents_reads_back_and_runs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "ir.md").read_text("utf-8")
    (block,) = re.findall(r"```futhark-kernels\n(.*?)```", text, re.DOTALL)
    prog = parse(block)
    assert plain(printer.show(prog)) == block
    verify(prog, target_named("cuda"))
    (found,) = kernel_interp.run(prog, "main", [np.arange(20, dtype=np.int32)])
    assert found.tolist() == [190]


def test_its_forms_are_told_in_the_documents() -> None:
    text = (Path(__file__).parents[2] / "docs" / "ir.md").read_text("utf-8")
    told = text[text.index("## Kernels, thread by thread") :]
    for word in KernelParser.forms.words - ImpParser.forms.words | {"ranges", "part"}:
        assert f"`{word}" in told or f"= {word}(" in told, word


def test_the_kernels_are_those_that_the_text_of_cuda_has() -> None:
    """Whatever the panes before it are for; a target without blocks has no kernels of its own."""
    for target in ("c", "cuda"):
        work = Compilation(CAS, Options(target=target))
        shown = work.result("kernels")
        assert shown is work.result("kernels", "cuda")
        host = (stm for fun in shown.prog.funs for stm in statements(fun.body))
        launched = [stm.kernel.name for stm in host if isinstance(stm, k.Launch)]
        text = plain(work.result("cuda").text)
        assert launched
        assert all(f"void {name}(" in text for name in launched)
