"""A stage's text, written anew: what is made of it, what it is checked for, what is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.errors import AppError
from app.origin_check import refuse_native
from compiler.__main__ import main
from compiler.base.context import Options
from compiler.driver.pipeline import STAGES, Compilation
from compiler.driver.worker import answer
from compiler.protocol.operations import OPERATIONS
from compiler.runtime.runner import compiler_available

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"
SUM = "entry main [n] (xs: [n]i32) : i32 = reduce (+) 0 (map (* 2) xs)\n"
UPDATE = "entry main [n] (xs: *[n]i32) : [n]i32 =\n  xs with [1:n] = map (+ 1) xs[0 : n - 1]\n"


def asked(op: str, source: str = SUM, edited: Any = None, **fields: Any) -> dict[str, Any]:
    options = {"edited": edited} if edited else {}
    found: dict[str, Any] = answer({"op": op, "source": source, "options": options, **fields})
    return found


def text_of(stage: str, source: str = SUM, target: str = "c", **options: Any) -> str:
    given = {"target": target, **options}
    found = answer({"op": "show", "source": source, "stages": [stage], "options": given})
    return str(found["stages"][stage]["text"])


EDITABLE = [stage.id for stage in STAGES if stage.kind in ("ir", "imp")]


@pytest.mark.parametrize("name", ["concatenation", "blocked_wavefront", "mapscan", "radix_sort"])
@pytest.mark.parametrize("stage", EDITABLE)
def test_a_text_that_nobody_changed_gives_the_same_from_there_on(name: str, stage: str) -> None:
    source = (EXAMPLES / f"{name}.fut").read_text()
    text = text_of(stage, source)
    for later in EDITABLE[EDITABLE.index(stage) :]:
        found = text_of(later, source, edited={stage: text})
        assert untagged(found) == untagged(text_of(later, source)), later
    assert answer(
        {"op": "text", "source": source, "stage": "c", "options": {"edited": {stage: text}}}
    )["ok"]


def untagged(text: str) -> list[str]:
    """A text's words without the numbers of names, in any order of commutative operands."""
    return sorted(re.sub(r"_\d+\b", "", text).split())


def test_what_is_written_is_what_runs() -> None:
    text = text_of("flat")
    assert "x_9 * 2i32" in text
    edited = {"flat": text.replace("x_9 * 2i32", "x_9 * 3i32")}
    assert asked("run", edited=edited, input="[1, 2, 3]", backend="ref")["output"] == "18i32"
    assert asked("run", input="[1, 2, 3]", backend="ref")["output"] == "12i32"
    stages = asked("validity", edited=edited, input="[1, 2, 3]")["stages"]
    assert [stages[name]["valid"] for name in ("simplified", "fused")] == [True, True]
    assert not stages["flat"]["valid"]
    assert not stages["imp"]["valid"]


@pytest.mark.skipif(not compiler_available(), reason="there is no C compiler")
def test_what_is_written_is_what_c_runs() -> None:
    edited = {"imp": text_of("imp").replace("* 2i32", "* 3i32")}
    found = asked("run", edited=edited, input="[1, 2, 3]", backend="c")
    assert found["output"] == "18i32"
    assert "`imp` was written by hand" in found["note"]
    assert "note" not in asked("run", input="[1, 2, 3]", backend="c")


@pytest.mark.skipif(not compiler_available(), reason="there is no C compiler")
def test_what_reads_outside_of_an_array_is_said_or_noticed() -> None:
    edited = {"flat": text_of("flat").replace("[i_17]", "[i_17 + 1]")}
    assert (
        "accesses outside a block"
        in asked("run", edited=edited, input="[1, 2]", backend="c")["note"]
    )
    found = answer(
        {
            "op": "run",
            "source": SUM,
            "input": "[1, 2]",
            "backend": "ref",
            "options": {"edited": edited},
        }
    )
    assert not found["ok"]
    assert "outside of a block" in found["error"]["message"]


def test_lines_keep_their_places_where_names_do() -> None:
    text = text_of("flat").replace("* 2i32", "* 3i32")
    found = answer(
        {"op": "show", "source": SUM, "stages": ["flat"], "options": {"edited": {"flat": text}}}
    )
    lines = {line["text"].strip(): line["src"] for line in found["stages"]["flat"]["lines"]}
    assert lines["let (x_9: i32) = xs_8[i_17]"][0][0] == 1


def test_a_wrong_memory_layout_is_found_by_the_heap() -> None:
    """The array is built in its place although what it is made from is read there: unsound."""
    text = text_of("funmem", UPDATE)
    (block,) = re.findall(r"let \((\w+): mem\(i32\)\) = alloc", text)
    host = re.findall(r"xs_\w*mem_\d+", text)[0]
    wrong = re.sub(rf"@ {block} -> 0 \+", f"@ {host} -> 1 +", text)
    assert wrong != text
    edited = {"funmem": wrong}
    answered = asked("validity", UPDATE, edited, input="[1, 2, 3, 4]")
    assert answered["ok"], answered
    stages = answered["stages"]
    assert stages["flat"]["valid"]
    assert stages["funmem"]["verdict"] == "race"
    shown = asked("show", UPDATE, edited, stages=["imp"])
    (said,) = [one for one in shown["remarks"] if "unsound" in one["because"]]
    assert said["kind"] == "missed"
    assert "two threads meet" in said["because"]
    right = asked("show", UPDATE, {"funmem": text}, stages=["imp"])
    assert not [one for one in right["remarks"] if "unsound" in one["because"]]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("i_17 < n_7)", "i_17 < n_7", "expected"),
        ("xs_8[i_17]", "ys_99[i_17]", "`ys_99`"),
        ("x_9 * 2i32", "x_9 * 2i64", "flat"),
        ("entry main", "entry other", "entry points"),
        ("(xs_8: [n_7]i32)", "(xs_8: [n_7]i64)", "entry points"),
        ("in (red_15)", "", "expected"),
        ("in (x_9 * 2i32)", "let (y_12: i32) = x_9 in (x_9 * 2i32)", "`y_12` twice"),
    ],
)
def test_a_broken_text_says_what_is_wrong(old: str, new: str, said: str) -> None:
    text = text_of("flat")
    assert old in text
    found = asked("text", edited={"flat": text.replace(old, new)}, stage="imp")
    assert not found["ok"]
    assert said in found["error"]["message"]
    assert found["error"]["kind"] != "internal"
    before = asked("text", edited={"flat": text.replace(old, new)}, stage="fused")
    assert before["ok"], "stages before it are as they were"


def test_a_syntax_error_has_its_place_in_the_text() -> None:
    text = text_of("flat").replace("i_17 < n_7)", "i_17 < n_7")
    error = asked("text", edited={"flat": text}, stage="flat")["error"]
    assert error["kind"] == "syntax"
    line = text.splitlines()[error["span"][0] - 1]
    assert error["span"][4] == "<stage flat>"
    assert "op" in line or "body" in line
    assert line.strip() in error["rendered"]


def test_texts_that_are_not_read_back_are_refused() -> None:
    for stage in ("ast", "typed", "mono", "c", "cuda"):
        found = asked("check", edited={stage: ""})
        assert found["error"]["message"] == f"The text of `{stage}` cannot be edited."
    assert "no stage" in asked("check", edited={"nothing": ""})["error"]["message"]


def test_no_pass_tells_of_what_it_has_not_made() -> None:
    text = text_of("shortcircuit", UPDATE)
    found = asked("attempts", UPDATE, {"shortcircuit": text})
    assert "written by hand" in found["error"]["message"]
    assert asked("attempts", UPDATE, {"funmem": text_of("funmem", UPDATE)})["ok"]


def test_new_names_are_not_those_of_the_text() -> None:
    text = text_of("flat").replace("red_15", "red_4000")
    work = asked("text", edited={"flat": text}, stage="c")
    assert work["ok"]
    edited = (("flat", text),)
    made = Compilation(SUM, Options(edited=edited))
    assert int(made.result("imp").names[0]) >= 4000


def test_an_endless_text_ends_with_the_run() -> None:
    source = "entry main (n: i64) : i64 = loop i = 0 while i < n do i + 1\n"
    text = text_of("flat", source)
    name = re.findall(r"(i_\d+) \+ 1i64", text)[0]
    edited = {"flat": text.replace(f"{name} + 1i64", f"{name} * 1i64")}
    found = asked("run", source, edited, input="3", backend="ref", deadline=1.0)
    assert found["error"]["kind"] == "timeout"


def test_what_allocates_without_end_ends_with_an_error() -> None:
    source = "entry main (n: i64) : []i64 = replicate n 7i64\n"
    text = text_of("funmem", source)
    size = re.findall(r"alloc\((\w+), i64\)", text)[0]
    edited = {"funmem": text.replace(f"alloc({size}, i64)", f"alloc({size} * 1000000000000, i64)")}
    found = asked("run", source, edited, input="1000000", backend="ref", deadline=5.0)
    assert found["error"]["kind"] in ("runtime", "timeout")


def test_a_server_runs_it_by_an_interpreter_only() -> None:
    options = {"edited": {"flat": ""}}
    for name, one in OPERATIONS.items():
        interpreted = name in ("flow", "listing", "validity") or not one.runs
        fields = {"options": options, **({"backend": "ref"} if name == "run" else {})}
        if interpreted or name == "run":
            refuse_native(one, fields)
            continue
        if getattr(one.request, "backend", "") == "ref":
            refuse_native(one, fields)
            fields["backend"] = "c"
        with pytest.raises(AppError, match="reference interpreter"):
            refuse_native(one, fields)
    refuse_native(OPERATIONS["run"], {"options": {}, "backend": "c"})


def test_the_command_takes_texts_from_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, text = tmp_path / "p.fut", tmp_path / "flat.txt"
    program.write_text(SUM)
    text.write_text(text_of("flat").replace("* 2i32", "* 5i32"))
    given = ["--from-stage", "flat", str(text)]
    assert main(["show", *given, "--stage", "imp", str(program)]) == 0
    assert "5i32" in capsys.readouterr().out
    text.write_text("entry main")
    assert main(["show", *given, "--stage", "imp", str(program)]) == 1
    assert "stage flat:1:" in capsys.readouterr().err
