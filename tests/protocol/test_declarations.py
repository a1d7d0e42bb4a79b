"""What is declared of requests and answers is what is taken and given."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from jsonschema import Draft202012Validator

from compiler.base.errors import ErrorKind
from compiler.driver import api, worker
from compiler.protocol.__main__ import ROOT, made
from compiler.protocol.answering import ANSWERS, answering
from compiler.protocol.fields import fields
from compiler.protocol.kinds import EXAMPLE, Operation, Options
from compiler.protocol.openapi import document, example
from compiler.protocol.operations import OPERATIONS
from compiler.protocol.reading import WrongRequest, checked
from compiler.protocol.teaching import PUZZLE_EXAMPLE
from tests.driver.test_in_place_advice import OLD
from tests.protocol.shapes import SCHEMA, undescribed, wrong, wrong_answer

EXAMPLES = {path.stem: path.read_text("utf-8") for path in (ROOT / "app/examples").glob("*.fut")}
NESTED = """
entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs -> loop acc = 0f32 for i < 3 do acc + reduce (+) 0f32 (map (+ f32.i64 i) xs)) xss
"""
CALLING = "def at (xs: []i32) i = xs[i] entry main xs = at xs 7"
FAILING = "entry main (xs: []i32) (i: i64) = xs[i]"
TESTED = f"{FAILING}\n-- ==\n-- input {{ true }}\n-- input {{ [1] 0i64 }} output {{ 2 }}\n"
CHOICE = """
entry main [n][m] (b: bool) (xss: [n][m]f32): [n]f32 =
  if b then map (reduce (+) 0) xss else map (reduce (*) 1) xss
"""


def answers(request: dict[str, Any]) -> list[dict[str, Any]]:
    """All answers to a request, the partial ones first."""
    found: list[dict[str, Any]] = []
    found.append(worker.answer(request, found.append))
    return found


@pytest.mark.parametrize("path", made())
def test_what_is_made_from_the_declarations_is_up_to_date(path: str) -> None:
    assert Path(ROOT / path).read_text("utf-8") == made()[path], "run python -m compiler.protocol"


@pytest.mark.parametrize("one", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_is_answered_by_a_function_of_its_types(one: Operation[Any]) -> None:
    hints = get_type_hints(answering(one))
    assert one.request in hints.values()
    assert ANSWERS.keys() <= OPERATIONS.keys()


def test_a_worker_that_waits_holds_only_what_compiles() -> None:
    program = (
        "import sys, compiler.__main__, compiler.protocol.operations as o;"
        "from compiler.driver.worker import answer;"
        "assert answer({'op': 'show', 'source': 'entry main = 1i32'})['ok'];"
        "late = {one.answered_in for one in o.OPERATIONS.values()} - {'compiler.driver.worker'};"
        "late |= {'compiler.command_line.running', 'numpy.random'};"
        "print(*sorted(late & sys.modules.keys()));"
        "runs = 'compiler.runtime', 'compiler.semantics';"
        "print(*[name for name in sys.modules if name.startswith(runs)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["compiler.driver.api", "compiler.driver.checking"], done.stderr


@pytest.mark.parametrize("one", OPERATIONS.values(), ids=OPERATIONS)
def test_the_example_of_an_operation_is_answered(one: Operation[Any]) -> None:
    request = example(one)
    assert wrong(one.id, "request", request) == []
    (answer,) = answers({"op": one.id, **request})
    assert answer["ok"], answer
    assert wrong_answer(one.id, answer) == []


MEETING = "entry main (xs: []i32) = scatter [0, 0, 0] (map (const 1) xs) xs"
ENDLESS = "entry main (n: i64) = map (\\i -> loop x = i while x >= 0 do x ^ 1) (iota 9)"


def scans(count: int) -> str:
    """A program whose kernels are many."""
    lines = (f"  let x{k + 1} = scan (+) {k} x{k}\n" for k in range(count))
    return f"entry main (x0: []i32) =\n{''.join(lines)}  in x{count}\n"


def requests() -> list[dict[str, Any]]:
    """Requests whose answers have every field that is declared."""
    small = {"sizes": {"n": 4, "k": 2}}
    programs = [
        *EXAMPLES.values(),
        EXAMPLE,
        NESTED,
        CHOICE,
        OLD,
        FAILING,
        "entry main = y",
        "entry",
        "entry main (xs: *[]i32) = let ys = xs with [0] = 1 in (ys, xs)",
    ]
    found: list[dict[str, Any]] = [{"op": one.id, **example(one)} for one in OPERATIONS.values()]
    wrong_word = {"line": 1, "column": 14, "end_line": 1, "end_column": 17}
    wrong_name = "entry main = maq (+ 1) [1]"
    hint = "Did you mean `map`?"
    found.append({"op": "fixes", "source": wrong_name, **wrong_word, "hint": hint})
    for source in programs:
        found += [
            {"op": name, "source": source}
            for name in (
                "check",
                "interference",
                "index_functions",
                "tuning",
                "attempts",
                "bounds",
                "certificate",
                "rules",
            )
        ]
        found.append({"op": "attempts", "source": source, "pictures": 3})
        found += [
            {"op": "show", "source": source, "stages": ["typed", "merged"], "stream": True},
            {"op": "lifetimes", "source": source, "values": {}},
            {"op": "memory", "source": source, "stage": "merged"},
            {"op": "generate", "source": source, "sizes": {"n": 3}},
        ]
    found += [
        {"op": "lifetimes", "source": EXAMPLE},
        {"op": "accesses", "source": "entry main [n][m] (a: [n][m]i32) = map (\\r -> r[0]) a"},
        {
            "op": "sums",
            "source": "entry main (x: i32) = match (#some x: #some i32) case #some y -> y",
        },
        {"op": "fusion", "source": "entry main (xs: []i32) = map (+ 1) (map (* 2) xs)"},
        {
            "op": "dataflow",
            "source": "entry main [n] (x: [n]i32) = loop a = x for i < n do scan (+) 0 a",
            "stage": "imp",
        },
        {"op": "dataflow", "source": scans(50), "stage": "kernels"},
        {"op": "rule", "rule": "fuse/map-map"},
        {"op": "rule", "rule": "shortcircuit/budget"},
        {"op": "memory", "source": EXAMPLE, "stage": "imp"},
        {"op": "batch", "source": EXAMPLE, "requests": [{"op": "check"}]},
        {"op": "batch", "source": EXAMPLE, "requests": [{"op": "tuning"}], "stream": True},
        {"op": "validity", "source": EXAMPLE, **small},
        {"op": "validity", "source": EXAMPLE, "sizes": {"n": 1, "k": 2}},
        {"op": "run", "source": EXAMPLE, **small, "binary": 1000},
        {"op": "run", "source": EXAMPLE, **small, "backend": "ref", "longest": 10},
        {"op": "run", "source": FAILING, "input": "[1] 7i64"},
        {"op": "eval", "source": EXAMPLE, "expression": "main [1, 2] 1", "backend": "c"},
        {"op": "listing", "source": EXAMPLE, "listing": "sass"},
        {"op": "observe", "source": EXAMPLE, **small},
        {"op": "profile", "source": EXAMPLE, **small, "backend": "cuda"},
        {"op": "observe", "source": ENDLESS, "deadline": 12.0},
        {"op": "observe", "source": MEETING, "input": "[1, 2]"},
        {"op": "eval", "source": EXAMPLE, "expression": "main"},
        {
            "op": "literate",
            "source": "-- > :img [[true]]\n\n-- > f\n\n-- > [1i32]\n",
            "backend": "ref",
        },
        {"op": "eval", "source": EXAMPLE, "expression": "trace 1i32"},
        {"op": "run", "source": "entry main = trace 1i32", "input": "", "backend": "ref"},
        {"op": "run", "source": "entry main = assert (trace false) 1", "backend": "ref"},
        *({"op": "test", "source": TESTED, "case": number, "backend": "ref"} for number in (0, 1)),
        {"op": "tests", "source": TESTED},
        {"op": "run", "source": CALLING, "input": "[1]"},
        {"op": "prove", "a": "{(n : 1)}", "b": "m + {(n : 1)}"},
        {"op": "prove", "a": "{(n : 1)}", "b": "{(n : 1)}", "assumptions": {"nonnegative": ["n"]}},
        {"op": "prove", "a": "{(n : 2)}", "b": "1 + {(n : 2)}", "certificate": True},
        {"op": "prove", "a": "{(", "b": "0"},
        {"op": "cells", "lmads": ["{(n : 1)}", "0"], "assumptions": {"other": ["n > 3"]}},
        {
            "op": "check",
            "source": 'import "a"',
            "files": {"a.fut": "def x = y"},
        },
        {"op": "lesson", "lesson": PUZZLE_EXAMPLE},
        {
            "op": "costs",
            "source": "entry main [n][m] (a: [n][m]f32) = map f32.sum (transpose a)",
            "options": {"disable": ["coalesce"]},
        },
        {"op": "costs", "source": OLD},
        {"op": "nothing"},
    ]
    return found


def of_memory(source: str) -> list[dict[str, Any]]:
    """Requests for the cells of an array, of a kernel, and of both."""
    functions = worker.answer({"op": "memory", "source": source})["functions"]
    fun = functions[0]
    array, kernel = fun["arrays"][0], fun["kernels"][0]["name"]
    values = dict.fromkeys(("n", "m", "k", *array["symbols"]), 3)
    asked = {"op": "memory", "source": source, "values": values}
    return [
        {**asked, "array": array["name"]},
        {**asked, "kernel": kernel},
        {**asked, "array": array["name"], "kernel": kernel},
    ]


FOR_OTHERS = {"Problem.position", "Problem.retry", "RunAnswer.note"} | {
    f"{answer}.{field}"
    for answer, fields in (("RunAnswer", ("kept",)), ("EvalAnswer", ("kept", "data")))
    for field in fields
}
"""What the server says of its queue and of results, and what is said without a C compiler."""


def test_every_answer_has_the_shape_that_is_declared_and_every_field_occurs() -> None:
    seen: set[str] = set()
    for request in [*requests(), *of_memory(EXAMPLE), *of_memory(NESTED)]:
        for answer in answers(request):
            if request["op"] in OPERATIONS:
                assert wrong_answer(request["op"], answer) == [], request
                undescribed(request["op"], answer, seen)
            else:
                assert wrong("check", "failure", answer) == []
    shapes = SCHEMA["$defs"]
    inputs = {"Options", *(one.request.__name__ for one in OPERATIONS.values())}
    declared = {
        f"{name}.{field}"
        for name, shape in shapes.items()
        if name not in inputs
        for field in shape.get("properties", ())
    }
    assert declared - seen - FOR_OTHERS == set()


VALUES: list[Any] = [
    None, 0, 1, -1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, True, 0.5, "", "c", "ref", "x",
    [], ["a"], [1], [{}], [[]], {}, {"n": 1}, {"n": 2**64}, {"n": "x"}, {"n": True}, {"n": None},
    {"fuel": 1}, {"fuel": -1}, {"target": "c"}, {"target": 1}, {"disable": "fuse"}, {"nothing": 1},
    {"disable": ["fuse"], "verify": True}, {"fuel": None}, {"thresholds": {"x": 1.5}},
]  # fmt: skip


@pytest.mark.parametrize("one", OPERATIONS.values(), ids=OPERATIONS)
def test_requests_are_taken_where_the_schema_says_so(one: Operation[Any]) -> None:
    """By every field, with every kind of value; an error names what is wrong."""
    whole = example(one)
    for name in (*fields(one.request), "nothing"):
        for value in VALUES:
            request = {**whole, name: value}
            said = {field: given for field, given in request.items() if given is not None}
            try:
                checked(one, request, own=True)
            except WrongRequest as error:
                if isinstance(value, dict) and name == "options":
                    named = {f"`{field}`" for field in (*value, "options")}
                else:
                    named = {f"`{name}`"}
                assert any(field in error.message for field in named), error.message
                right = False
            else:
                right = True
            of_schema = _nulls_left_out(said) if name == "options" else said
            if name == "nothing" and value is None:
                assert not right, "an unknown field is one, whatever it holds"
            else:
                assert right == (wrong(one.id, "request", of_schema) == []), (name, value)


def _nulls_left_out(request: dict[str, Any]) -> dict[str, Any]:
    options = request.get("options")
    if not isinstance(options, dict):
        return request
    known = fields(Options)
    return {
        **request,
        "options": {k: v for k, v in options.items() if v is not None or k not in known},
    }


def test_what_the_server_sets_is_no_field_of_a_client() -> None:
    with pytest.raises(WrongRequest, match="`run` takes no field `deadline`"):
        checked(OPERATIONS["run"], {"source": "", "deadline": 1}, own=False)
    assert checked(OPERATIONS["run"], {"source": "", "deadline": 1}, own=True)["deadline"] == 1


def test_the_document_for_clients_is_whole() -> None:
    served = {name: one for name, one in OPERATIONS.items() if one.served}
    whole = document(served, "1")
    assert {path.rpartition("/")[2] for path in whole["paths"]} == served.keys()
    text = json.dumps(whole)
    assert "deadline" not in text, "that is the server's own"
    for name, shape in whole["components"]["schemas"].items():
        Draft202012Validator.check_schema(shape)
        assert name not in ("ManifestAnswer", "CertificateRequest")
    resolved = json.loads(text.replace("#/components/schemas/", "#/$defs/"))
    for path, found in resolved["paths"].items():
        media = found["post"]["requestBody"]["content"]["application/json"]
        shape = {**media["schema"], "$defs": resolved["components"]["schemas"]}
        assert Draft202012Validator(shape).is_valid(media["example"]), path


def test_kinds_of_errors_are_all_there() -> None:
    """What is wrong with a request is told as `runtime`."""
    text = (ROOT / "docs" / "protocol.md").read_text("utf-8")
    errors = text.partition("## Errors")[2].partition("## Shapes")[0]
    rows = [line.split("`")[1] for line in errors.splitlines() if line.startswith("| `")]
    assert set(rows) == {*get_args(ErrorKind)} - {"usage"}


def test_the_options_are_those_that_compile() -> None:
    given: Any = {"entry": "main", "target": "cuda", "disable": ["fuse"], "fuel": 7}
    given["enable"] = ["c/fast-functions"]
    given |= {"thresholds": {"x": 1}, "verify": True, "unsafe": True, "sanitize": True}
    given["limits"] = {"shortcircuit/budget/steps": 1}
    given["edited"] = {"flat": "entry main"}
    assert given.keys() == fields(Options).keys()
    made_of = api.options_from(given, {"a.fut": "def x = 1"}, "b.fut")
    plain = api.options_from({})
    given_by_requests = {"expression", "exposed"}
    with_every_run, with_arrays = {"traced"}, {"strides"}
    for one in {*made_of.__slots__} - given_by_requests - with_every_run - with_arrays:
        assert getattr(made_of, one) != getattr(plain, one)
