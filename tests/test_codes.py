"""Codes of errors and warnings: the wrong program of each raises it, the mended one is right.

What stands in the registry is what `stridescope explain`, the page and docs/errors.md show.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler import codes
from compiler.base.code import Code
from compiler.base.errors import CompileError
from compiler.codes import CODES, FAMILIES
from compiler.codes.document import document
from compiler.driver import api, checking
from compiler.driver.answers import failure
from compiler.protocol.programs import CheckRequest, ShowRequest

ROOT = Path(__file__).parent.parent
WITHOUT_PROGRAM = {
    codes.syntax.NOT_TEXT: "no program has such bytes; tests/driver/test_worker.py sends some",
    codes.files.TOO_MANY: "1001 files; tests/frontend/test_files.py",
    codes.limits.KERNEL_LOOP: "a gap that no known program meets",
    codes.limits.FUNCTION: "only accumulators meet it; tests/test_accumulators.py",
    codes.limits.ROWS: "a gap that no known program meets",
    codes.limits.UNKNOWN_SIZE: "a gap that no known program meets",
    codes.flatpack.WINDOW: "only a run on files has it; tests/driver/test_streaming.py",
    codes.limits.ARRAY_OPERATOR: "a gap that no known program meets",
    codes.limits.CALL: "a gap that no known program meets; tests/parallel/test_flatten.py",
    codes.limits.DEPTH: "depends on the machine's stack; tests/driver/test_worker.py",
    codes.limits.RESOURCES: "depends on the machine; tests/runtime/test_cc.py",
}
"""Codes of which no program is shown, and why."""
SHOWN = [code for code in CODES.values() if code not in WITHOUT_PROGRAM]


def found(source: str, code: Code) -> list[str]:
    """The codes of what is told of a program, compiled for every target if that is a limitation."""
    files, main = dict(code.files), code.main
    try:
        told = [
            w["code"]
            for w in checking.check(CheckRequest(source, files=files, main=main))["warnings"]
        ]
        for target in api.TARGETS if code.id[0] == "L" else ():
            api.show(ShowRequest(source, {"target": target}, files, stages=[target]))
    except CompileError as error:
        return [one.get("code", one["kind"]) for one in failure(error)["error"]["errors"]]
    return told


@pytest.mark.parametrize("code", SHOWN, ids=lambda code: code.id)
def test_the_wrong_program_raises_the_code_and_nothing_else(code: Code) -> None:
    assert found(code.wrong, code) == [code.id]


@pytest.mark.parametrize("code", SHOWN, ids=lambda code: code.id)
def test_the_mended_program_is_right_and_without_warnings(code: Code) -> None:
    assert found(code.mended, code) == []
    assert code.mended != code.wrong


def test_every_code_says_what_it_means() -> None:
    for family in FAMILIES:
        own = [code for code in vars(family).values() if isinstance(code, Code)]
        letter = own[0].id[0]
        assert all(re.fullmatch(letter + "[0-9]{3}", code.id) for code in own), family.__name__
        assert [code.id for code in own] == sorted({code.id for code in own}), family.__name__
    declared = sum(isinstance(c, Code) for family in FAMILIES for c in vars(family).values())
    assert len(CODES) == declared
    for code in CODES.values():
        assert code.title[0].isupper() or code.title[0] == "`"
        assert not code.title.endswith(".")
        assert code.text.endswith(".")
        assert bool(code.wrong) == bool(code.mended) == (code not in WITHOUT_PROGRAM)


CODED = {"TypeError_", "SyntaxError_", "Limitation", "Limitation.at", "Warning_"}


def raised() -> Iterator[tuple[str, str]]:
    """Where the compiler makes an error or warning that has a code, and what it names as that."""
    for path in sorted((ROOT / "compiler").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in CODED:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", ast.unparse(node.args[0])


def test_every_error_names_its_code_as_a_value() -> None:
    """That it is one is what the type checker sees; here, that no text or `getattr` makes it."""
    for place, code in raised():
        assert re.fullmatch(r"(codes\.[a-z]+\.[A-Z_]+|code)", code), place


def test_every_code_is_raised_by_something() -> None:
    texts = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "compiler").rglob("*.py")
        if "codes" not in path.relative_to(ROOT).parts
    )
    for family in FAMILIES:
        name = family.__name__.rpartition(".")[2]
        for constant, code in vars(family).items():
            if isinstance(code, Code):
                assert f"codes.{name}.{constant}" in texts, code.id


def test_the_document_is_that_of_the_registry() -> None:
    """`python -m compiler.codes` writes it."""
    assert (ROOT / "docs/errors.md").read_text("utf-8") == document()
