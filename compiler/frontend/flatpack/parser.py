r"""Parse FlatPack's text to its syntax tree, with several errors per run.

program    ::= [ `type` name ] definition..         each from the first column of a line on
definition ::= name param.. `=` exp                 param ::= name | `(` name `:` exp `)`
exp        ::= `let` pattern `=` exp `in` exp | `\` pattern.. `->` exp | infix
pattern    ::= name | `(` pattern `,` pattern.. `)`
infix      ::= by precedence: `.`; `*` `/`; `+` `-`; comparisons; `Of`; `$`
apply      ::= atom atom..
atom       ::= name | number | string | `[` exp, .. `]` | `(` exp `)` | `(` op `)`
             | `(` op exp `)` | `(` exp `,` exp.. `)`
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeGuard

from compiler import codes
from compiler.base.errors import SyntaxError_
from compiler.base.spans import Span
from compiler.frontend.flatpack import syntax as s

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+) | (?P<comment>--[^\n]*)
  | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
  | (?P<name>[A-Za-z_][A-Za-z0-9_']*)
  | (?P<string>"[^"\n]*")
  | (?P<op>->|==|/=|<=|>=|[-+*/<>.$∘∶])
  | (?P<sign>[()\[\],:=\\`'])
    """,
    re.VERBOSE,
)
_PRECEDENCE = (("$",), ("Of",), ("==", "/=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/"), (".",))
"""Operators by precedence, loosest first."""
_RIGHT = frozenset(("$", "Of", "."))
_DEEPEST = 60
"""Deepest nesting of expressions; deeper texts are not written by hand."""
RESERVED = frozenset(("let", "in", "type"))
"""Words that cannot be names."""
OPERATORS = frozenset(op for level in _PRECEDENCE for op in level) - {"Of"}


class Word(NamedTuple):
    """`kind` is `name`, `number`, `string`, `op` or `sign`; or `end`, behind a definition."""

    kind: str
    text: str
    span: Span


def parse(source: str, file: str = "") -> s.Program:
    """Parse a program.

    Errors: `SyntaxError_`, the first in the text; `others` holds one for each further definition.
    """
    program, errors = recovered(source, file)
    if errors:
        errors[0].others = tuple(errors[1:])
        raise errors[0]
    return program


def parse_expression(source: str, file: str) -> s.Exp:
    """Parse an expression, wherever it begins.

    Errors: as `parse`.
    """
    errors: list[SyntaxError_] = []
    tokens = _tokens(source, file, errors)
    if errors:
        raise errors[0]
    at = tokens[-1].span if tokens else Span(1, 1, 1, 1, file)
    end = Span(at.end_line, at.end_col, at.end_line, at.end_col, file)
    parser = _Parser([*tokens, Word("end", "the end of the expression", end)], is_definition=False)
    found = parser.exp()
    parser.end("the end of the expression, or an operator")
    return found


def recovered(source: str, file: str = "") -> tuple[s.Program, list[SyntaxError_]]:
    """Return the correct definitions, and the errors of the others, by order of text."""
    errors: list[SyntaxError_] = []
    tokens = _tokens(source, file, errors)
    definitions: list[s.Definition] = []
    element: s.Name | None = None
    for part in _parts(tokens):
        parser = _Parser(part)
        try:
            if part[0].text == "type":
                parser.step()
                element = parser.name("the type of the elements, such as `f32`")
                parser.end()
            else:
                definitions.append(parser.definition())
        except SyntaxError_ as error:
            errors.append(error)
    errors.sort(key=lambda error: error.span)
    return s.Program(tuple(definitions), element), errors


def words_of(source: str) -> list[Word]:
    """Return all words of a text, without comments and unknown characters."""
    return _tokens(source, "", [])


def _tokens(source: str, file: str, errors: list[SyntaxError_]) -> list[Word]:
    out: list[Word] = []
    refused: set[str] = set()
    at, line, start = 0, 1, 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        text = found.group() if found else source[at]
        span = Span(line, at - start + 1, line, at - start + 1 + len(text), file)
        kind = found.lastgroup or "" if found else ""
        if not kind and text not in refused:
            refused.add(text)
            errors.append(_bad_character(text, span))
        at += len(text)
        if breaks := text.count("\n"):
            line += breaks
            start = at - len(text) + text.rindex("\n") + 1
        if text in ("`", "'"):
            continue  # quotes around `Of` are redundant
        if kind and kind not in ("space", "comment"):
            out.append(Word(kind, "." if text in "∘" else text, span))
    return out


def _bad_character(char: str, span: Span) -> SyntaxError_:
    if char == '"':
        return SyntaxError_(
            codes.syntax.UNCLOSED,
            "This string has no closing quote.",
            span,
            'Put a `"` at its end.',
        )
    named = f"`{char}`" if char.isprintable() else f"the character U+{ord(char):04X}"
    return SyntaxError_(
        codes.flatpack.UNEXPECTED, f"FlatPack does not use {named}.", span, "Remove it."
    )


def _parts(tokens: list[Word]) -> list[list[Word]]:
    """Split the tokens into definitions; one begins at each token in the first column."""
    parts: list[list[Word]] = []
    for token in tokens:
        if token.span.col == 1 or not parts:
            parts.append([])
        parts[-1].append(token)
    for part in parts:
        last = part[-1].span
        end = Span(last.end_line, last.end_col, last.end_line, last.end_col, last.file)
        part.append(Word("end", "the end of the definition", end))
    return parts


def is_pattern(e: s.Exp) -> TypeGuard[s.Pattern]:
    """Test whether an expression could be a pattern."""
    return isinstance(e, s.Name) or (isinstance(e, s.Tuple) and all(map(is_pattern, e.elems)))


class _Parser:
    """Parses the tokens of one definition, or of an expression alone."""

    def __init__(self, tokens: list[Word], is_definition: bool = True) -> None:
        self.tokens = tokens
        self.is_definition = is_definition
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Word:
        return self.tokens[self.at]

    def step(self) -> Word:
        """Consume and return the current token."""
        found = self.token
        self.at += found.kind != "end"
        return found

    def fail(self, wanted: str) -> SyntaxError_:
        """Return the error for an unexpected token."""
        found = self.token
        named = found.text if found.kind == "end" else f"`{found.text}`"
        hint = ""
        if not self.is_definition:
            pass
        elif found.kind == "end" or (found.text == "=" and self.at):
            hint = "A definition begins in the first column; indent its continuation lines."
        elif self.at == 0 and found.span.col > 1:
            hint = "A definition begins in the first column of its line."
        return SyntaxError_(
            codes.flatpack.UNEXPECTED, f"Expected {wanted}, found {named}.", found.span, hint
        )

    def take(self, text: str) -> Word:
        """Consume the token `text`, or fail."""
        if self.token.text != text or self.token.kind in ("end", "string"):
            raise self.fail(f"`{text}`")
        return self.step()

    def end(self, wanted: str = "the next definition in a new line, or an operator") -> None:
        """Demand the end."""
        if self.token.kind != "end":
            raise self.fail(wanted)

    def name(self, wanted: str) -> s.Name:
        """Parse a name."""
        if self.token.kind != "name" or self.token.text in RESERVED:
            raise self.fail(wanted)
        token = self.step()
        return s.Name(token.span, token.text)

    def pattern(self, wanted: str) -> s.Pattern:
        """Parse a name, or names for the components of a tuple."""
        if self.token.text != "(":
            return self.name(wanted)
        at = self.token
        found = self.atom()
        if not is_pattern(found):
            raise SyntaxError_(
                codes.flatpack.UNEXPECTED,
                f"Expected {wanted}, found an expression.",
                at.span.to(found.span),
                "Name the components of the tuple: `(a, b)`.",
            )
        return found

    def definition(self) -> s.Definition:
        """Parse a whole definition."""
        first = self.token
        if first.span.col != 1:
            raise self.fail("the name of a definition")
        name = self.name("the name of a definition")
        params: list[s.Param] = []
        while self.token.text != "=":
            params.append(self.param())
        self.step()
        body = self.exp()
        self.end()
        return s.Definition(first.span.to(body.span), name, tuple(params), body)

    def param(self) -> s.Param:
        """Parse a parameter, with or without its shape."""
        if self.token.text != "(":
            name = self.name("a parameter or `=`")
            return s.Param(name.span, name.text, None, name.span)
        first = self.step()
        name = self.name("a parameter's name")
        self.take(":")
        shape = self.exp()
        return s.Param(first.span.to(self.take(")").span), name.text, shape, name.span)

    def exp(self) -> s.Exp:
        """Parse any expression."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise SyntaxError_(
                codes.flatpack.UNEXPECTED,
                f"Expressions are nested more than {_DEEPEST} levels deep here.",
                self.token.span,
                "Move a part of it to a separate definition.",
            )
        found = self._exp()
        self.depth -= 1
        return found

    def _exp(self) -> s.Exp:
        first = self.token
        if first.kind == "name" and first.text == "let":
            self.step()
            name = self.pattern("the name that is bound")
            self.take("=")
            rhs = self.exp()
            self.take("in")
            body = self.exp()
            return s.Let(first.span.to(body.span), name, rhs, body)
        if first.text == "\\":
            self.step()
            params = [self.pattern("a parameter")]
            while self.token.text != "->":
                params.append(self.pattern("a parameter or `->`"))
            self.step()
            body = self.exp()
            return s.Lambda(first.span.to(body.span), tuple(params), body)
        return self.infix(0)

    def infix(self, level: int) -> s.Exp:
        """Parse operators of this precedence level or tighter."""
        if level == len(_PRECEDENCE):
            return self.apply()
        lhs = self.infix(level + 1)
        while self.token.kind in ("op", "name") and self.token.text in _PRECEDENCE[level]:
            op = self.step().text
            right = op in _RIGHT
            if self.token.text in ("\\", "let"):
                rhs = self.exp()
            else:
                rhs = self.infix(level if right else level + 1)
            lhs = s.Infix(lhs.span.to(rhs.span), op, lhs, rhs)
        return lhs

    def apply(self) -> s.Exp:
        """Parse a function with its arguments."""
        fn = self.atom()
        while self.starts_atom():
            arg = self.atom()
            fn = s.Apply(fn.span.to(arg.span), fn, arg)
        return fn

    def starts_atom(self) -> bool:
        """Test whether an argument can begin here."""
        token = self.token
        if token.kind == "name":
            return token.text not in RESERVED and token.text != "Of"
        return token.kind in ("number", "string") or token.text in ("(", "[")

    def atom(self) -> s.Exp:
        """Parse a name, a literal, or something in brackets."""
        if not self.starts_atom():
            raise self.fail("an expression")
        token = self.step()
        match token.kind:
            case "name":
                return s.Name(token.span, token.text)
            case "number":
                return s.Number(token.span, token.text)
            case "string":
                return s.String(token.span, token.text[1:-1])
        if token.text == "[":
            elems: list[s.Exp] = []
            while self.token.text != "]":
                elems.append(self.exp())
                if self.token.text != "]":
                    self.take(",")
            return s.List(token.span.to(self.step().span), tuple(elems))
        return self.bracket(token)

    def bracket(self, first: Word) -> s.Exp:
        """Parse round brackets: an operator, a section, a negative number, an expression."""
        op = self.token
        if op.kind == "op" and op.text in OPERATORS:
            self.step()
            if self.token.text == ")":
                return s.Name(first.span.to(self.step().span), op.text)
            near = self.token.span == self.token.span._replace(col=op.span.end_col)
            if op.text == "-" and self.token.kind == "number" and near:
                number = self.step()
                return s.Number(first.span.to(self.take(")").span), f"-{number.text}")
            rhs = self.exp()
            return s.Section(first.span.to(self.take(")").span), op.text, rhs)
        inner = self.exp()
        if self.token.text != ",":
            self.take(")")
            return inner
        elems = [inner]
        while self.token.text != ")":
            self.take(",")
            elems.append(self.exp())
        return s.Tuple(first.span.to(self.step().span), tuple(elems))
