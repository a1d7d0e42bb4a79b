"""Tokenise source text for the grammar in `grammar.lark`.

Resolves what the grammar cannot: whether a `[` directly follows an indexable expression (IBRACK) or
not (LBRACK); whether `.x` selects a field; whether `'a` is a type variable or begins a character.
Symbols are read by maximal munch.
"""

from __future__ import annotations

import re
from dataclasses import field

from lark import Token

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import SyntaxError_
from compiler.base.spans import Span
from compiler.frontend.syntax_hints import CHARACTERS

MAX_ERRORS = 20
"""Most errors of one text."""
KEYWORDS = {
    word: word.upper()
    for word in (
        "true false if then else def let loop in val for do with local open include import type "
        "entry module while assert match case"
    ).split()
}
_SYMBOLS = {"-": "MINUS", "*": "STAR", "<": "LT", "|": "BAR", "!": "BANG", "=": "EQ", "->": "ARROW"}
_PUNCTUATION = {
    "(": "LPAR",
    ")": "RPAR",
    "]": "RBRACK",
    "{": "LCURL",
    "}": "RCURL",
    ",": "COMMA",
    ":": "COLON",
    ":>": "COERCE",
    "\\": "LAM",
    "?": "QUEST",
    "???": "HOLE",
    "..": "DOTDOT",
    "...": "RANGE_END",
    "..<": "RANGE_END",
    "..>": "RANGE_END",
    "`": "TICK",
}
_QUANTIFIED = frozenset(("LBRACK", "IBRACK", "ID", "RBRACK"))
"""Tokens between the `?` and the `.` of `?[n][m].[n][m]i32`."""
_INDEXABLE = frozenset(("ID", "FIELD", "RPAR", "RBRACK", "RCURL", "STRING"))

_NAME = r"[A-Za-z_][A-Za-z0-9_']*"
_SYMCHARS = r"[+\-*/%=!><|&^][+\-*/%=!><|&^.]*"
_DECIMAL = r"[0-9][0-9_]*"
_HEX = r"[0-9a-fA-F][0-9a-fA-F_]*"
_INT_TYPE = r"(?:[iu](?:8|16|32|64)|f(?:16|32|64))"
_TOKEN = re.compile(
    rf"""
    (?P<space>[ \t\r\n]+)
  | (?P<comment>--[^\n]*)
  | (?P<attr>\#\[(?:[^\[\]]|\[[^\]]*\])*\])
  | (?P<constr>\#{_NAME})
  | (?P<qualop>(?:{_NAME}\.)+{_SYMCHARS})
  | (?P<typeword>type[ ]*[~^](?=[\sA-Za-z_]))
  | (?P<name>{_NAME})
  | (?P<float>0[xX]{_HEX}\.{_HEX}[pP][+-]?_*{_DECIMAL}(?:f16|f32|f64)?
      | {_DECIMAL}\.{_DECIMAL}(?:[eE][+-]?[0-9]+)?(?:f16|f32|f64)?
      | {_DECIMAL}[eE][+-]?[0-9]+(?:f16|f32|f64)?)
  | (?P<int>(?:0[xX]{_HEX}(?:[iu](?:8|16|32|64))? | 0[bB][01][01_]*(?:[iu](?:8|16|32|64))?
      | 0[rR][IVXLCDM]+(?:[iu](?:8|16|32|64))?
      | {_DECIMAL}{_INT_TYPE}?))
  | (?P<char>'(?:[^'\\\n]|\\[^\n][^'\n]*)')
  | (?P<tyvar>'[~^]?{_NAME})
  | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
  | (?P<field>\.(?:{_NAME}|[0-9]+))
  | (?P<dotpar>\.\()
  | (?P<dotbrack>\.\[)
  | (?P<dots>\.\.\.|\.\.<|\.\.>|\.\.|\.)
  | (?P<symbol>{_SYMCHARS})
  | (?P<punct>\?\?\?|:>|[()\]{{}},:\\?`])
  | (?P<lbrack>\[)
    """,
    re.VERBOSE,
)


@dataclass(slots=True)
class Lexed:
    """Tokens, documentation comments by the index of the token after them, and bad characters."""

    tokens: list[Token] = field(default_factory=list)
    comments: list[Token] = field(default_factory=list)
    docs: dict[int, str] = field(default_factory=dict)
    errors: list[SyntaxError_] = field(default_factory=list)
    _refused: set[str] = field(default_factory=set)

    def refuse(self, source: str, pos: int, span: Span) -> None:
        """Record an error for a character, unless it is repeated or there are many."""
        if len(self.errors) < MAX_ERRORS and source[pos] not in self._refused:
            self._refused.add(source[pos])
            self.errors.append(_bad_character(source, pos, span))


def tokenise(source: str, file: str = "", line: int = 1) -> Lexed:
    """Tokenise `source`, which begins at that line of its file.

    Characters that cannot start one become errors and are skipped.
    """
    out = Lexed()
    tokens = out.tokens
    pos, line_start = 0, 0
    previous, adjacent, quantifier = "", False, False
    doc: list[str] = []
    match = _TOKEN.match
    while pos < len(source):
        found = match(source, pos)
        if found is None:
            column = pos - line_start + 1
            out.refuse(source, pos, Span(line, column, line, column + 1, file))
            if source.startswith("#[", pos):
                break  # avoid scanning to the end for each later one
            pos, adjacent = pos + 1, False
            continue
        kind, text, start, pos = found.lastgroup or "", found.group(), pos, found.end()
        if kind == "space":
            if newlines := text.count("\n"):
                line += newlines
                line_start = start + text.rindex("\n") + 1
            if newlines > 1:
                doc = []
            adjacent = False
            continue
        if kind == "comment":
            out.comments.append(Token("COMMENT", text, start, line))
            if text.startswith("-- |") or doc:
                doc.append(text[2:].removeprefix(" |").strip())
            adjacent = False
            continue
        indexable = adjacent and previous in _INDEXABLE
        type_, length = _classify(kind, text, indexable, quantifier)
        if length < len(text):
            pos = start + length
            text = text[:length]
        if type_ == "QUEST":
            quantifier = True
        elif type_ not in _QUANTIFIED:
            quantifier = False
        if doc:
            out.docs[len(tokens)], doc = "\n".join(doc), []
        first, column = line, start - line_start + 1
        if newlines := text.count("\n"):  # an attribute over several lines
            line += newlines
            line_start = start + text.rindex("\n") + 1
        end = pos - line_start + 1
        text = text.replace(" ", "") if kind == "typeword" else text
        tokens.append(Token(type_, text, start, first, column, line, end, pos))
        previous, adjacent = type_, True
    return out


def _classify(kind: str, text: str, indexable: bool, quantifier: bool) -> tuple[str, int]:
    """Return the terminal of `text`, and the number of its characters."""
    match kind:
        case "name":
            if text == "_":
                return "UNDERSCORE", 1
            return KEYWORDS.get(text, "ID"), len(text)
        case "typeword":
            return "TYPE", len(text)
        case "field":
            if quantifier:
                return "DOT", 1
            return "FIELD", len(text)
        case "dotpar" | "dotbrack" if quantifier:
            return "DOT", 1
        case "dots":
            return ("DOT", 1) if text == "." else (_PUNCTUATION[text], len(text))
        case "symbol":
            return _SYMBOLS.get(text, "OP"), len(text)
        case "punct":
            return _PUNCTUATION[text], len(text)
        case "lbrack":
            return ("IBRACK" if indexable else "LBRACK"), 1
        case _:
            return kind.upper(), len(text)


def _bad_character(source: str, pos: int, span: Span) -> SyntaxError_:
    char = source[pos]
    if char == '"':
        return SyntaxError_(
            codes.syntax.UNCLOSED,
            "This string has no closing quote.",
            span,
            'Put a `"` at its end.',
        )
    if source.startswith("#[", pos):
        return SyntaxError_(
            codes.syntax.UNCLOSED,
            "This attribute has no closing bracket.",
            span,
            "Put a `]` at its end.",
        )
    if char == "'":
        return SyntaxError_(
            codes.syntax.UNCLOSED, "This character literal has no closing quote.", span
        )
    name = f"`{char}`" if char.isprintable() else f"the character U+{ord(char):04X}"
    return SyntaxError_(
        codes.syntax.CHARACTER,
        f"Futhark does not use {name} here.",
        span,
        CHARACTERS.get(char, "Remove it."),
    )
