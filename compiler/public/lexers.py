"""Pygments lexers for Futhark, FlatPack, and the stages that Stridescope shows.

Installed as plugins: `pygmentize -l funmem`, Sphinx, MkDocs and LaTeX's `minted` colour dumps of
every stage. `futhark` stays the lexer of Pygments itself; `stridescope-futhark` also knows `f16`,
roman numerals, characters, constructors, and the functions of the prelude. The server's pages
without JavaScript are coloured by the same lexers.

The page's editor has the same words in `static/src/words.ts` (a test compares them).
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
)

Rules = list[tuple[Any, Any]]

KEYWORDS = (
    "and assert case def do else entry false for if import in include let local loop match module "
    "open sig then true type val while with"
).split()
PRIMS = "i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bool".split()
FUNCTIONS = (
    "map map1 map2 map3 map4 map5 reduce reduce_comm scan scatter reduce_by_index filter partition "
    "iota replicate zip zip3 zip4 zip5 unzip unzip3 unzip4 unzip5 transpose flatten unflatten "
    "reverse rotate concat take drop head last tabulate tabulate_2d length copy radix_sort "
    "radix_sort_int radix_sort_float"
).split()
IR_WORDS = (
    "alloc apply asking assert atomic await barrier bins block blocks body by call comm concat "
    "copy device do else entry exchange exit fold for free frees from fun get gives grid hist "
    "host if in indices into iota jvp launch let locked loop map mem neutral of op part per_block "
    "point points private publish push ranges rearrange reduce replicate reshape return scan "
    "scatter scope scratch seghist segmap segred segscan shared shuffle sizes stream takes then "
    "thread threshold ticket times to unroll var vjp while wide with with_vjp zeros"
).split()
FLATPACK_KEYWORDS = "let in type Of".split()
FLATPACK_FUNCTIONS = (
    "GetData Literal Enumerate Split Join Zip Repack Let LetMap map Arith If Fold Filter Twist "
    "HasShape As size N Transpose RotateL RotateR Slice SubRange DownSample Smap Compose Plus "
    "Minus Times Divide min max head last tail init take drop transpose concat zipWith sum product "
    "mean dotProduct positions"
).split()
FLATPACK_TYPES = "Int Scalar".split()

NAME = r"[A-Za-z_][\w']*"
# Each of these ends on its line at the latest, and none is tried in vain for longer than that: a
# text of any kind takes a time in proportion to its length.
STRING = r"\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\])'"
NUMBER = (
    r"(?:0[xX][0-9a-fA-F_]+(?:\.[0-9a-fA-F_]+[pP][+-]?\d+)?|0[bB][01_]+|0[rR][IVXLCDM]+"
    r"|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)"
    r"(?:[iuf](?:8|16|32|64)|[uUlLfF]+)?"
)
OPERATOR = r"[-+*/%=<>!&|^@~.?\\]+"


def _any_of(listed: list[str]) -> words:
    """Match one of these words, and no longer one."""
    return words(listed, suffix=r"(?![\w'])")


FREQUENT: Rules = [(r"\s+", Whitespace), (r"[()\[\]{},:;`$]+", Punctuation)]
"""Most tokens, tried first: no other rule begins with these characters."""


class _Listed(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Rules shared by the languages. A text keeps all of its characters."""

    flags = re.MULTILINE
    usual: ClassVar[Rules] = [
        (STRING, String),
        (NUMBER, Number),
        (NAME, Name),
        (OPERATOR, Operator),
        (r".", Text),
    ]


class FutharkLexer(_Listed):
    """Futhark, as the compiler reads it."""

    name = "Futhark (Stridescope)"
    url = "https://futhark-lang.org/"
    aliases: ClassVar[list[str]] = ["stridescope-futhark"]
    tokens: ClassVar[dict[str, Rules]] = {
        "root": [
            *FREQUENT,
            (r"--.*", Comment.Single),
            (STRING, String),
            (r"'[~^]?[A-Za-z_]\w*|#[A-Za-z_]\w*", Keyword.Type),
            (rf"(?<=\bdef\s){NAME}|(?<=\bentry\s){NAME}", Name.Function),
            (_any_of(KEYWORDS), Keyword),
            (_any_of(PRIMS), Keyword.Type),
            (_any_of(FUNCTIONS), Name.Builtin),
            (rf"{NAME}(?=\.[A-Za-z(])", Name.Namespace),
            (r"#\[[^\]\n]*\]?", Comment.Preproc),
            *_Listed.usual,
        ]
    }


class FlatPackLexer(_Listed):
    """FlatPack: arrays split, twisted and joined along named axes."""

    name = "FlatPack"
    aliases: ClassVar[list[str]] = ["flatpack"]
    filenames: ClassVar[list[str]] = ["*.fp"]
    tokens: ClassVar[dict[str, Rules]] = {
        "root": [
            *FREQUENT,
            (r"--.*", Comment.Single),
            (r"\"[^\"\n]*\"?", String),
            (rf"^(?!type\b){NAME}", Name.Function),
            (_any_of(FLATPACK_KEYWORDS), Keyword),
            (_any_of(FLATPACK_TYPES + PRIMS), Keyword.Type),
            (_any_of(FLATPACK_FUNCTIONS), Name.Builtin),
            *_Listed.usual,
        ]
    }


class StageLexer(_Listed):
    """The compiler's own languages: core language with memory, imperative code, kernels."""

    name = "Stridescope stages"
    aliases: ClassVar[list[str]] = ["funmem", "stridescope"]
    filenames: ClassVar[list[str]] = ["*.funmem"]
    tokens: ClassVar[dict[str, Rules]] = {
        "root": [
            *FREQUENT,
            (r"--.*", Comment.Single),
            (rf"(?<=@ ){NAME}", Name.Label),
            (_any_of([*IR_WORDS, *KEYWORDS]), Keyword),
            (_any_of(PRIMS), Keyword.Type),
            (rf"{NAME}(?=\s*\()", Name.Function),
            *_Listed.usual,
        ]
    }
