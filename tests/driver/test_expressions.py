"""Expressions over a program's definitions: `eval`, `run -e` and `repl`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compiler.__main__ import main
from compiler.command_line.repl import Session, declares, declares_flatpack, typed
from compiler.driver.worker import answer

PROGRAM = """type p = {x: i32, y: f32}
def f (x: i32) = x + 1
def g [n] (xs: [n]f32) : p = {x = i32.i64 n, y = f32.sum xs}
def same 'a (x: a) = x
def it = 7i64
entry main (xs: []i32) = map f xs
"""


def evaluated(expression: str, source: str = PROGRAM, **more: object) -> dict[str, object]:
    return answer({"op": "eval", "source": source, "expression": expression, **more})


FLATPACK = "type i32\ndouble xs = map (* 2) xs\nmain (xs : n Of m) = Fold (+) 0 (double xs)\n"


def over_flatpack(expression: str, source: str = FLATPACK, **more: object) -> dict[str, object]:
    return evaluated(expression, source, main="program.fp", **more)


@pytest.mark.parametrize(
    ("expression", "type_", "output"),
    [
        ("main (Literal [1, 2, 3, 4] (2 Of 2))", "2 Of i32", "[8i32, 12i32]"),
        ("double (Enumerate 1 (+ 1) 3)", "3 Of i32", "[2i32, 4i32, 6i32]"),
        ("Twist Transpose (Split 2 (Enumerate 0 (+ 1) 4))", "2 Of 2 Of i32",
         "[[0i32, 2i32], [1i32, 3i32]]"),
        ("let xs = Enumerate 1 (+ 1) 3\n in Fold (+) 0 xs", "i32", "6i32"),
        ("1 + 2 -- said beside it", "i32", "3i32"),
        ("(As f32 (Enumerate 0 (+ 1) 2), size (Enumerate 0 (+ 1) 2))", "(2 Of f32, i32)",
         "[0.0f32, 1.0f32]\n2i32"),
        ("main . double", "a function of 1 argument", ""),
        ("zipWith", "a function of 3 arguments", ""),
        ("Transpose", "a structural transformation", ""),
        ("2 Of 3", "2 Of 3", ""),
        ('double (GetData "a.bin" 3)', "3 Of i32", ""),
    ],
)  # fmt: skip
def test_over_a_flatpack_program_expressions_are_in_its_notation(
    expression: str, type_: str, output: str
) -> None:
    for backend in ("ref", "c"):
        told = over_flatpack(expression, backend=backend)
        assert (told["type"], told["output"]) == (type_, output)
    assert ("note" in told) == (not output)
    only = over_flatpack(expression, typed=True)
    assert (only["type"], only["output"]) == (type_, "")


@pytest.mark.parametrize(
    ("expression", "kind", "span", "says"),
    [
        ("double (Literal [1, 2] 3)", "type", [1, 9, 1, 25], "The list has 2 numbers"),
        ("\n  dubble 1", "type", [2, 3, 2, 9], "`dubble` is not defined."),
        ("main (Enumerate 0 (+ 1) 3)", "type", [1, 1, 1, 26], "`main` takes `xs : n Of m`"),
        ("main [1, 2]", "type", [1, 1, 1, 12], "Expected an array, found a list"),
        ("1 +", "syntax", [1, 4, 1, 4], "found the end of the expression"),
        ("", "syntax", [1, 1, 1, 1], "Expected an expression"),
        ("(1", "syntax", [1, 3, 1, 3], "found the end of the expression"),
        ("1)", "syntax", [1, 2, 1, 3], "Expected the end of the expression"),
        ("f x = x", "syntax", [1, 5, 1, 6], "found `=`"),
        ("1 ? 2", "syntax", [1, 3, 1, 4], "FlatPack does not use `?`."),
        ("main main", "type", [1, 1, 1, 10], "found `main`, which lacks an argument"),
        ("Split 4 (Enumerate 1 (+ 1) 6)", "type", [1, 1, 1, 29], "6"),
    ],
)
def test_errors_in_flatpack_have_their_place_in_the_expression(
    expression: str, kind: str, span: list[object], says: str
) -> None:
    error = over_flatpack(expression)["error"]
    assert isinstance(error, dict)
    assert error["kind"] == kind
    assert error["span"] == [*span, "<expression>"]
    assert says in error["message"]
    assert "first column" not in error["hint"]


def test_an_error_of_a_flatpack_program_has_its_place_there() -> None:
    for source in ("main = (", "type i32\nmain = 1\nf x = Join x\n"):
        error = over_flatpack("f 1", source)["error"]
        assert isinstance(error, dict)
        assert isinstance(error["span"], list)
        assert len(error["span"]) == 4


def test_a_call_of_main_is_held_to_its_signature() -> None:
    source = (
        "main (k : Int) (s : Scalar) (ps : k Of (2 Of f32, i32)) =\n"
        "  let (a, b) = ps in (Fold (+) 0 a, Fold (+) 0 b, s)\n"
    )

    def of(arguments: str) -> dict[str, object]:
        return over_flatpack(f"main {arguments}", source)

    ones, steps = "Enumerate 1 (* 1)", "Enumerate 0 (+ 1)"
    pair = f"(As f32 (Split 3 ({ones} 6)), As i32 ({steps} 3))"
    assert of(f"3 0.5 {pair}")["output"] == "[3.0f32, 3.0f32]\n3i32\n0.5f64"
    for arguments, says in (
        (f"2 0.5 {pair}", "where k = 2; this has the shape 3 Of 2"),
        (f"3 0.5 ({steps} 3)", "takes a tuple of 2 as `ps`, found an array"),
        (f"3 0.5 (As f32 ({steps} 3), As i32 ({steps} 3))", "takes `ps.0 : k Of 2`"),
        (f"3 0.5 (As f32 (Split 3 ({ones} 6)), {steps} 3)", "elements of the type i32 in `ps.1`"),
        (f"3 ({steps} 2) {pair}", "takes `s : Scalar`"),
    ):
        error = of(arguments)["error"]
        assert isinstance(error, dict)
        assert says in error["message"]


@pytest.mark.parametrize("backend", ["ref", "c"])
def test_values_and_types(backend: str) -> None:
    told = evaluated('(map f [1, 2], it, "a")', backend=backend)
    assert told["type"] == "([2]i32, i64, [1]u8)"
    assert told["output"] == "[2i32, 3i32]\n7i64\n[97u8]"
    assert told["results"] == ["[2]i32", "i64", "[1]u8"]
    assert told["backend"] == backend


@pytest.mark.parametrize(
    ("expression", "type_", "output"),
    [
        ("filter (> 1) [1, 2, 3]", "[]i32", "[2i32, 3i32]"),
        ("let k = 2\n in iota k", "[2]i64", "[0i64, 1i64]"),
        ("1 -- said beside it", "i32", "1i32"),
        ("()", "()", ""),
        ("main [5]", "[1]i32", "[6i32]"),
        ("f", "i32 -> i32", ""),
        ("same", "'t t -> t", ""),
        ("map", "[n] 't 't' (t -> t') -> [n]t -> *[n]t'", ""),
        ("iota", "(x: i64) -> *[x]i64", ""),
        ("[]", "'t [0]t", ""),
        ("(1, f)", "(i32, i32 -> i32)", ""),
    ],
)
def test_kinds_of_expressions(expression: str, type_: str, output: str) -> None:
    told = evaluated(expression)
    assert (told["type"], told["output"]) == (type_, output)
    assert ("note" in told) == (not output and type_ != "()")
    only = evaluated(expression, typed=True)
    assert (only["type"], only["output"]) == (type_, "")


@pytest.mark.parametrize(
    ("expression", "kind", "span", "says"),
    [
        ("1 + true", "type", [1, 5, 1, 9], "expected a number"),
        ("\n  xs", "type", [2, 3, 2, 5], "Unknown name `xs`"),
        ("(1", "syntax", [1, 3, 1, 3], "the text ends here"),
        ("1)", "syntax", [1, 2, 1, 3], "found `)`"),
        ("", "syntax", [1, 1, 1, 2], "Expected an expression"),
        ("1 def x = 2", "syntax", [1, 3, 1, 12], "found a declaration"),
        ("1) + (2", "syntax", [1, 2, 1, 3], "found `)`"),
        ("[1, 2][it]", "runtime", [1, 1, 1, 11], "Index [7] out of bounds"),
        ("same f", "type", [1, 6, 1, 7], "expected `a`"),
    ],
)
def test_errors_have_their_place_in_the_expression(
    expression: str, kind: str, span: list[object], says: str
) -> None:
    error = evaluated(expression)["error"]
    assert isinstance(error, dict)
    assert error["kind"] == kind
    assert error["span"] == [*span, "<expression>"]
    assert says in error["message"]
    line = expression.split("\n")[span[0] - 1] if isinstance(span[0], int) else ""
    assert f"{span[0]} | {line}" in error["rendered"] or not line


@pytest.mark.parametrize("text", ["def x = 2", 'import "a"', "1 def x = 2"])
def test_a_declaration_is_no_expression(text: str) -> None:
    error = evaluated(text)["error"]
    assert isinstance(error, dict)
    assert error["hint"] == "Write declarations in the program."


def test_an_error_of_the_program_has_its_place_there() -> None:
    for source in ("def f = (", "def f: i32 = true"):
        error = evaluated("1", source=source)["error"]
        assert isinstance(error, dict)
        assert isinstance(error["span"], list)
        assert len(error["span"]) == 4
    error = evaluated("at 9", source="def at (i: i64) = [1, 2][i]\n")["error"]
    assert isinstance(error, dict)
    assert error["span"] == [1, 19, 1, 28]
    assert error["calls"] == [[1, 1, 1, 5, "<expression>"]]


def test_a_program_of_several_files_and_options() -> None:
    files = {"a.fut": "def two = 2i32\ndef it = 3i32"}
    told = evaluated("two + it", 'open import "a"', files=files, options={"entry": "other"})
    assert told["output"] == "5i32"


# --- the command line ------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.fut"
    path.write_text(PROGRAM)
    return str(path)


def test_run_takes_an_expression(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", program, "-e", "main [1, 2]", "--backend", "ref"]) == 0
    assert main(["run", "-e", "1 + 2", "--backend", "ref"]) == 0
    assert capsys.readouterr().out == "[2i32, 3i32]\n3i32\n"
    flatpack = Path(program).with_suffix(".fp")
    flatpack.write_text(FLATPACK)
    whole = "main (Literal [1, 2] (1 Of 2))"
    assert main(["run", str(flatpack), "-e", whole, "--backend", "ref"]) == 0
    assert capsys.readouterr().out == "[2i32, 4i32]\n"
    assert main(["run", str(flatpack), "-e", "main 1"]) == 1
    assert "expression:1:1: error[P003]" in capsys.readouterr().err
    assert main(["run", program, "-e", "main 1"]) == 1
    assert "expression:1:6: error[T001]" in capsys.readouterr().err
    assert main(["run", "-e", "1", "--generate", "n=3"]) == 2
    assert main(["run"]) == 2


Repl = Callable[..., str]


@pytest.fixture
def told(program: str) -> Iterator[Repl]:
    """Types lines into a session; what it says."""
    said: list[str] = []
    with Session(say=said.append) as session:
        session.load(program)

        def take(*lines: str) -> str:
            said.clear()
            for line in lines:
                session.take(line)
            return "\n".join(said)

        yield take


def test_a_session_grows(told: Repl, program: str) -> None:
    assert told("f 3") == "4i32"
    assert "Unknown name `k`" in told("def y = f k")
    assert told("def k = 4", "def y = f k", "y") == "5i32"
    assert told("def y = 8u8", "y") == "8u8"
    assert told("let z = y", "z", ":type same") == "8u8\n't t -> t"
    assert "defined twice" in told("def f = 1")
    assert told("f 1") == "2i32"
    assert "Unknown name `y`" in told(":reload", "y")
    assert "There is no command `:relod`. Did you mean `:reload`?" in told(":relod")
    assert told(":backend c", "f 2") == "3i32"
    assert "The backends are" in told(":backend d")
    assert "No such file" in told(":load none.fut")


def test_imports_are_read_beside_the_program(told: Repl, program: str) -> None:
    Path(program).with_name("more.fut").write_text("def more = 9i32")
    assert told('import "more"', "more") == "9i32"
    assert "There is no file `moer.fut`" in told('import "moer"')


def test_lines_of_a_declaration_are_counted_from_its_first(told: Repl, program: str) -> None:
    said = told("def k = 4", "def y =\n  f true")
    assert said.startswith("declaration 2:2:5: error[T0")
    assert "2 |   f true\n  |     ^^^^" in said
    said = told("def h (x: i32) = x / k - x", "def z (b: i32) =\n  (b, k && true)")
    assert "declaration 3:2:7: error[" in said
    assert told("h 1 + tru").startswith("expression:1:7: error[")
    assert "expression:1:3: error" in told("h [1]")
    said = told("def main = k", "def main = true")
    assert "6 | entry main" in said
    assert "declaration 3:1:" in said


def test_what_is_stopped_leaves_the_session(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with Session(say=said.append) as session:
        session.take("1")
        answered = Session._answer

        def stopped(self: Session, request: dict[str, object]) -> dict[str, object]:
            raise KeyboardInterrupt

        monkeypatch.setattr(Session, "_answer", stopped)
        session.take("2")
        monkeypatch.setattr(Session, "_answer", answered)
        session.take("3")
    assert said == ["1i32", "Stopped.", "3i32"]


def test_lines_go_on_until_they_are_whole() -> None:
    lines = iter(["let x = 1", "in x", "1 +", "", "def f =", "  2", ":type f", "3 )", "[1,"])

    def read(_: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    assert list(typed(read, Session().is_unfinished)) == [
        "let x = 1", "in x", "1 +", "def f =\n  2", ":type f", "3 )", "[1,",
    ]  # fmt: skip


def test_a_session_over_a_flatpack_program_is_in_flatpack(tmp_path: Path) -> None:
    path, said = tmp_path / "program.fp", list[str]()
    path.write_text(FLATPACK)
    with Session(say=said.append) as session:
        session.load(str(path))
        for text in (
            "double (Enumerate 1 (+ 1) 2)", "twice xs = double (double xs)", ":type twice",
            "twice (Enumerate 1 (+ 1) 2)", "twice xs =\n  xs", "twice 5", "f x ="
        ):  # fmt: skip
            session.take(text)
        assert session.is_unfinished("f x =")
        assert not session.is_unfinished("f x = x")
    assert said[:4] == ["[2i32, 4i32]", "a function of 1 argument", "[4i32, 8i32]", "5i32"]
    assert "Expected an expression" in said[4]
    assert len(said) == 5


def test_what_is_declared() -> None:
    assert declares_flatpack("1 + 2") == ""
    assert declares_flatpack("f x = x") == "f"
    assert declares_flatpack("type f32") == "type"
    assert declares("1 + 2") == ""
    assert declares("def f x = x") == "f"
    assert declares("let f = 1") == "f"
    assert declares("type f = i32") == "type f"
    assert declares("module f = i32") == "module f"
    assert declares('import "a"') != declares('import "b"')
