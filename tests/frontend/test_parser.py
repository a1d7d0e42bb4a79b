"""The parser: trees, places, operators, and errors in words."""

import pytest

from compiler.base.errors import SyntaxError_
from compiler.frontend import ast, decs
from compiler.frontend.lexer import MAX_ERRORS
from compiler.frontend.parser import parse


def body(text: str) -> ast.Exp:
    (dec,) = parse(f"def main x = {text}").decs
    assert isinstance(dec, decs.ValDec)
    return dec.body


def shape(exp: ast.Exp) -> str:
    """An expression with all its parentheses, to compare trees."""
    match exp:
        case ast.Var(_, name):
            return ".".join(name)
        case ast.IntLit(_, value, suffix):
            return f"{value}{suffix}"
        case ast.FloatLit(_, text, suffix):
            return f"{text}{suffix}"
        case ast.BinOp(_, op, _, lhs, rhs):
            return f"({shape(lhs)} {'.'.join(op)} {shape(rhs)})"
        case ast.Apply(_, fn, args):
            return f"{shape(fn)}({', '.join(map(shape, args))})"
        case ast.Negate(_, inner):
            return f"(-{shape(inner)})"
        case ast.Parens(_, inner):
            return shape(inner)
        case ast.Project(_, inner, name):
            return f"{shape(inner)}.{name}"
        case ast.Index(_, array, dims):
            return f"{shape(array)}[{len(dims)}]"
        case ast.OpSection(_, op, left, right):
            ends = (shape(e) if e else "_" for e in (left, right))
            return f" {'.'.join(op)} ".join(ends)
        case ast.RangeExp(_, first, second, kind, end):
            step = f"..{shape(second)}" if second else ""
            return f"{shape(first)}{step}{kind}{shape(end)}"
        case _:
            return type(exp).__name__


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("2 ** 3 ** 2", "((2 ** 3) ** 2)"),
        ("x & 1 == 0", "((x & 1) == 0)"),
        ("x |> f |> g", "((x |> f) |> g)"),
        ("f <| g <| x", "(f <| (g <| x))"),
        ("a || b && c", "(a || (b && c))"),
        ("x +^ y * z", "(x +^ (y * z))"),
        ("x `f32.max` y + 1", "(x f32.max (y + 1))"),
        ("-x ** 2", "((-x) ** 2)"),
        ("f x (-1)", "f(x, (-1))"),
        ("f x -1", "(f(x) - 1)"),
        ("f xs[0]", "f(xs[1])"),
        ("f xs [0]", "f(xs, ArrayExp)"),
        ("x.0.1", "x.0.1"),
        ("xs[0][1].y", "xs[1][1].y"),
        ("f32.sqrt x", "f32.sqrt(x)"),
        ("(+)", "_ + _"),
        ("(+ 1)", "_ + 1"),
        ("(x *)", "x * _"),
        ("(x * y *)", "(x * y) * _"),
        ("(-1)", "(-1)"),
        ("0..<x", "0..<x"),
        ("0..2...x", "0..2...x"),
        ("x i32.+ 1", "(x i32.+ 1)"),
        ("1.5e3f32", "1.5e3f32"),
        ("0xffu8", "255u8"),
        ("1_000", "1000"),
        ("1.5_0", "1.50"),
        ("1.5E-3", "1.5E-3"),
        ("0x1.8p+3f32", "0x1.8p+3f32"),
        ("0rXIV", "14"),
        ("0RMCMXCIVi16", "1994i16"),
        ("0rVX", "15"),
        ("'a'", "97"),
        ("'\\65'", "65"),
        ("x .0", "x.0"),
        ("f (.0)", "f(ProjSection)"),
        ("f a \\y -> y + 1", "f(a, Lambda)"),
        ("x with [0] = 1 with [1] = 2", "Update"),
    ],
)
def test_expressions_group_as_the_language_says(text: str, tree: str) -> None:
    assert shape(body(text)) == tree


def test_let_chains_need_one_in() -> None:
    exp = body("let a = 1 let (b, c) = (a, 2) let d[0] = b in c")
    assert isinstance(exp, ast.Let)
    assert isinstance(exp.body, ast.Let)
    assert isinstance(exp.body.body, ast.LetWith)


def test_type_variables_and_characters_are_told_apart() -> None:
    (dec,) = parse("def f 'a 'b (x: a) (y: b) = 'a'").decs
    assert isinstance(dec, decs.ValDec)
    assert [p.name for p in dec.type_params] == ["a", "b"]
    assert isinstance(dec.body, ast.IntLit)


def test_places_are_exact() -> None:
    exp = body("let y = x\n  in foo y")
    assert isinstance(exp, ast.Let)
    assert exp.body.span[:4] == (2, 6, 2, 11)


def test_documentation_comments_reach_their_declaration() -> None:
    prog = parse("-- | Adds one.\n-- And no more.\ndef f x = x + 1\n\n-- plain\ndef g x = x")
    docs = [dec.doc for dec in prog.decs if isinstance(dec, decs.ValDec)]
    assert docs == ["Adds one.\nAnd no more.", ""]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("def main (x: i32) = x +", "1:24", "Expected an expression, but the text ends here."),
        ("def f x = (x + 1\ndef g = 1", "2:1", "`)`"),
        ("def f x = if x the 3 else 4", "1:22", "`then`"),
        ("def f = 3 $ 4", "1:11", "Futhark does not use `$` here."),
        ('def f = "abc', "1:9", "no closing quote"),
        ("def f (x: ) = x", "1:11", "Expected a type"),
        ("def f = loop x = 1 do x", "1:20", "`for`"),
        ("#[a\n  b\n]\ndef f =", "4:8", "the text ends here"),
        ("def f = #[a\n  b] ) 1", "2:6", "Expected an expression"),
        ("def f =\n#[a", "2:1", "no closing bracket"),
        ("-- a\x0cb\x1dc\u2028d\r e\ndef f = )", "2:9", "Expected an expression"),
        ("-- a\u2028\ndef f =", "2:8", "the text ends here"),
        ("def f =\r\n", "1:8", "the text ends here"),
        ("def f = \x0c", "1:9", "U+000C"),
        (f"def f = {'9' * 5000}", "1:9", "5000 digits"),
        (f"def f = 0x{'f' * 5000}", "1:9", "5000 digits"),
        ('def f = "\\q"', "1:9", "`\\q` is not an escape sequence."),
        ('def f = "\\xd800"', "1:9", "surrogate"),
        ('def f = "\\1114112"', "1:9", "1114111"),
        (f'def f = "\\{"9" * 5000}"', "1:9", "1114111"),
        ("def f = '\\nb'", "1:9", "one character"),
        ("def f = '\\x41'", "1:9", "In a character literal, write one character or a decimal"),
        ("def f = .5", "1:9", "Expected an expression, but found `.5`."),
        ("def f = [x, .5e3]", "1:13", "found `.5`."),
        ("def f = 5. + x", "1:10", "found `.`."),
        ("def f = 1.5e3_", "1:14", "found `_`."),
    ],
)
def test_errors_say_where_and_what_was_expected(text: str, place: str, words: str) -> None:
    with pytest.raises(SyntaxError_) as caught:
        parse(text)
    assert caught.value.span.position == place
    assert words in caught.value.message
    assert "RPAR" not in caught.value.message
    assert "^" in caught.value.render(text)


def test_the_end_of_the_text_is_inside_of_it() -> None:
    with pytest.raises(SyntaxError_) as caught:
        parse("def f =")
    assert caught.value.span == (1, 8, 1, 8, "")


def test_an_attribute_over_several_lines_has_both_ends() -> None:
    (dec,) = parse("#[a(\n  b)]\ndef f = 1").decs
    assert isinstance(dec, decs.ValDec)
    assert dec.attrs[0].span == (1, 1, 2, 6, "")
    assert dec.name_span == (3, 5, 3, 6, "")


def test_no_more_errors_are_kept_than_anyone_reads() -> None:
    """Each is shown with its line: without a bound that is quadratic in what was sent."""
    with pytest.raises(SyntaxError_) as caught:
        parse("§" * 50_000 + "#[" * 50_000)
    assert len(caught.value.others) < 2 * MAX_ERRORS


def test_a_long_word_is_not_repeated_in_an_error() -> None:
    with pytest.raises(SyntaxError_) as caught:
        parse(f"def f = 1 in {'x' * 5000}")
    assert len(caught.value.message) < 300
    with pytest.raises(SyntaxError_) as caught:
        parse(f"def {'1' * 5000}")
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\\101\\x41\\o101", "eAA"),
        ("\\n\\t\\\\\\\"\\'", "\n\t\\\"'"),
        ("a\\&b\\DELc\\^A\\SOH", "ab\x7fc\x01\x01"),
        ("é😀\\233", "é😀é"),
    ],
)
def test_escapes_are_those_of_the_language(text: str, value: str) -> None:
    literal = body(f'"{text}"')
    assert isinstance(literal, ast.StringLit)
    assert literal.value == value


@pytest.mark.parametrize(
    "text", ["0x_", "1e_", "0b_1", "0x_1p1", "0x1p3", "1e1_0", "0rxiv", "0x1.8p0_x", "1f128"]
)
def test_a_number_begins_with_a_digit(text: str) -> None:
    """The rest is a name, to which the number is applied."""
    assert isinstance(body(text), ast.Apply)


def test_several_errors_are_found_in_one_run() -> None:
    with pytest.raises(SyntaxError_) as caught:
        parse("def a = (1\ndef b = 2\ndef c = [1,,2]\ndef d = 3\ndef e = let x = 1\n")
    error = caught.value
    assert [e.span.line for e in (error, *error.others)] == [2, 3, 5]


def test_deep_nesting_and_an_empty_file_are_programs() -> None:
    assert parse("").decs == ()
    assert isinstance(body("(" * 1000 + "x" + ")" * 1000), ast.Parens)
