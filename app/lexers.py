"""Pygments lexers for Futhark and for the compiler's own intermediate languages.

The page's editor has the same words in `static/src/words.ts`; a test compares them.
"""

from __future__ import annotations

from pygments.lexer import Lexer, RegexLexer, words
from pygments.lexers.c_cpp import CppLexer
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
)

KEYWORDS = (
    "and assert case def do else entry false for if import in include let local loop match module "
    "open sig then true type val while with"
).split()
PRIMS = "i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bool".split()
FUNCTIONS = (
    "map map1 map2 map3 map4 map5 reduce reduce_comm scan scatter reduce_by_index filter partition "
    "iota replicate zip zip3 zip4 zip5 unzip unzip3 unzip4 unzip5 transpose flatten unflatten "
    "reverse rotate concat take drop head last tabulate tabulate_2d length copy"
).split()
IR_WORDS = (
    "alloc block by cell combine copy device diff else entry for fun gather grid guard hist host "
    "if in index iota kernel launch let loop map mem param par private read redomap reduce "
    "replicate reshape return rotate scan scanomap scatter screma seghist segmap segred segscan "
    "shared slice sync then thread transpose update var while with write"
).split()

_NUMBER = (
    r"-?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|(?:\d[\d_]*)(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)"
    r"(?:[iuf](?:8|16|32|64))?\b"
)


class FutharkLexer(RegexLexer):
    """Futhark source text."""

    name = "Futhark"
    aliases = ["futhark"]
    filenames = ["*.fut"]
    tokens = {
        "root": [
            (r"--.*?$", Comment.Single),
            (r"#\[[^\]]*\]", Comment.Preproc),
            (r"\s+", Text),
            (r'"(?:\\.|[^"\\])*"', String),
            (r"'(?:\\.|[^'\\])'", String.Char),
            (r"(?<=\bdef\s)[A-Za-z_][\w']*", Name.Function),
            (r"(?<=\bentry\s)[A-Za-z_][\w']*", Name.Function),
            (words(KEYWORDS, prefix=r"\b", suffix=r"\b(?!')"), Keyword),
            (words(PRIMS, prefix=r"\b", suffix=r"\b(?!')"), Keyword.Type),
            (words(FUNCTIONS, prefix=r"\b", suffix=r"\b(?!['.])"), Name.Builtin),
            (r"#[A-Za-z_]\w*", Name.Constant),
            (r"'[~^]?[A-Za-z_]\w*", Name.Variable),
            (_NUMBER.removeprefix("-?"), Number),
            (r"[A-Za-z_][\w']*(?=\.)", Name.Namespace),
            (r"[A-Za-z_][\w']*", Name),
            (r"[-+*/%=<>!&|^@~.?\\]+", Operator),
            (r"[()\[\]{},:;`#$]", Punctuation),
            (r".", Text),
        ]
    }


class IRLexer(RegexLexer):
    """Every stage from FUN to IMP, and what is printed of the front end."""

    name = "Stridescope IR"
    aliases = ["stridescope"]
    tokens = {
        "root": [
            (r"--.*?$", Comment.Single),
            (r"\s+", Text),
            (r'"(?:\\.|[^"\\])*"', String),
            (r"(?<=@ )[A-Za-z_][\w']*", Name.Label),
            (words(PRIMS, prefix=r"\b", suffix=r"\b(?!')"), Keyword.Type),
            (words(sorted(set(IR_WORDS + KEYWORDS)), prefix=r"\b", suffix=r"\b(?!['.])"), Keyword),
            (_NUMBER.removeprefix("-?"), Number),
            (r"[A-Za-z_][\w']*(?=\s*\()", Name.Function),
            (r"[A-Za-z_][\w'.]*", Name),
            (r"[-+*/%=<>!&|^@~.?\\]+", Operator),
            (r"[()\[\]{},:;`#$]", Punctuation),
            (r".", Text),
        ]
    }


LEXERS: dict[str, type[Lexer]] = {"futhark": FutharkLexer, "ir": IRLexer, "c": CppLexer}
