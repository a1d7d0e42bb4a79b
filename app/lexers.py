"""What has which colour in Futhark, FlatPack, the compiler's own intermediate languages and C.

The page's editor has the same words in `static/src/words.ts` (a test compares them), and gives them
the same classes in `static/src/lang.ts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
    "alloc apply asking assert atomic await barrier bins block blocks body by call comm concat "
    "copy device do else entry exchange exit fold for free frees from fun get gives grid hist "
    "host if in indices into iota launch let locked loop map mem neutral of op part per_block "
    "point points private publish push ranges rearrange reduce replicate reshape return scan "
    "scatter scope scratch seghist segmap segred segscan shared shuffle sizes stream takes then "
    "thread threshold ticket times to unroll var while with zeros"
).split()
FLATPACK_KEYWORDS = "let in type Of".split()
FLATPACK_FUNCTIONS = (
    "GetData Literal Enumerate Split Join Zip Repack Let LetMap map Arith If Fold Filter Twist "
    "HasShape As size N Transpose RotateL RotateR Slice SubRange DownSample Smap Compose Plus "
    "Minus Times Divide min max head last tail init take drop transpose concat zipWith sum product "
    "mean dotProduct positions"
).split()
FLATPACK_TYPES = "Int Scalar".split()
C_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while bool true false __global__ __device__ __shared__ "
    "__restrict__ def import lambda None self class try except finally with as not and or in is "
    "raise from"
).split()
C_TYPES = (
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t index_t half dim3"
).split()


USUAL = {"word": "", "call": "def", "space": "fun"}
"""The class of a name that is no word of the language, by where it stands."""

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
BETWEEN = r"[\s()\[\]{},:;`$]+"


@dataclass(frozen=True, slots=True)
class Language:
    """How a language's texts are cut into runs, and the classes of its words."""

    pattern: re.Pattern[str]
    """Matches at each place of a text. The group is a class, or a key of `USUAL`, or none."""
    words: Mapping[str, str]

    def runs(self, text: str) -> Iterator[tuple[str, str]]:
        """Classes of the style sheet (without `t-`; empty: none) and the runs that have them."""
        for match in self.pattern.finditer(text):
            kind, run = match.lastgroup or "", match.group()
            yield (self.words.get(run, USUAL[kind]) if kind in USUAL else kind), run


def _language(groups: dict[str, str], **words: list[str]) -> Language:
    """A language of these groups, tried in order between the usual ones, and of words by class."""
    every = {**groups, "string": STRING, "number": NUMBER, "word": NAME, "op": OPERATOR} | groups
    named = "|".join(f"(?P<{name}>{text})" for name, text in every.items())
    return Language(
        re.compile(f"{BETWEEN}|{named}|."),
        {word: kind for kind, listed in words.items() for word in listed},
    )


LANGUAGES: Mapping[str, Language] = {
    "futhark": _language(
        {
            "comment": r"--.*",
            "string": STRING,
            "type": r"'[~^]?[A-Za-z_]\w*|#[A-Za-z_]\w*",
            "def": rf"(?<=\bdef\s){NAME}|(?<=\bentry\s){NAME}",
            "space": rf"{NAME}(?=\.[A-Za-z(])",
            "op": rf"#\[[^\]\n]*\]?|{OPERATOR}",
        },
        fun=FUNCTIONS,
        keyword=KEYWORDS,
        type=PRIMS,
    ),
    "flatpack": _language(
        {"comment": r"--.*", "string": r"\"[^\"\n]*\"?", "def": rf"(?m:^)(?!type\b){NAME}"},
        fun=FLATPACK_FUNCTIONS,
        keyword=FLATPACK_KEYWORDS,
        type=FLATPACK_TYPES + PRIMS,
    ),
    "ir": _language(
        {"comment": r"--.*", "block": rf"(?<=@ ){NAME}", "call": rf"{NAME}(?=\s*\()"},
        keyword=IR_WORDS + KEYWORDS,
        type=PRIMS,
    ),
    "c": _language(
        {
            "comment": r"//.*|/\*[\s\S]*?(?:\*/|\Z)",
            "call": rf"{NAME}(?=\()",
            "op": rf"#.*|{OPERATOR}",
        },
        keyword=C_WORDS,
        type=C_TYPES,
    ),
}
