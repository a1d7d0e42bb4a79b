"""Literate programs: blocks, directives, media, pages."""

from __future__ import annotations

import base64
import io
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from compiler.__main__ import main
from compiler.base.errors import InputError
from compiler.driver.worker import answer
from compiler.notebooks.literate import blocks, html
from compiler.testing import media, plot

PROGRAM = """-- # Waves
--
-- Some *text*.

-- | A wave.
entry wave (n: i64): ([n]f64, [n]f64) =
  let xs = map f64.i64 (iota n) in (xs, map (* 2) xs)
entry grid (n: i64): [n][n]f32 = tabulate_2d n n (\\i j -> f32.i64 (i * j) / 9)
entry step (k: i64): ([2][3]u32, i64) = (replicate 2 (replicate 3 (u32.i64 k * 0x10203)), k + 1)
entry sound (n: i64) = map (\\i -> f32.i64 (i % 2)) (iota n)
entry fails (i: i64) = [1, 2][i]
"""


def directives(*texts: str, **more: object) -> list[dict[str, Any]]:
    """What becomes of directives below the program."""
    source = PROGRAM + "".join(f"\n-- > {text}\n" for text in texts)
    told = answer({"op": "literate", "source": source, "backend": "ref", **more})
    assert told["ok"], told
    return [block for block in told["blocks"] if block["kind"] == "directive"]


def data(block: dict[str, Any]) -> bytes:
    assert "error" not in block, block["error"]
    return base64.b64decode(block["result"]["data"])


def test_blocks() -> None:
    source = (
        PROGRAM
        + "\n-- More:\n-- > no\n\n-- > wave\n--   3i64\n-- > grid 2\n\n-- ==\n-- input { 1 }\n--not"
    )
    found = [(one.kind, one.text, one.span.line) for one in blocks(source)]
    code = PROGRAM[PROGRAM.index("-- |") :].strip()
    assert found == [
        ("text", "# Waves\n\nSome *text*.", 1),
        ("code", code, 5),
        ("text", "More:\n> no", 13),
        ("directive", "   > wave\n     3i64", 16),
        ("directive", "   > grid 2", 18),
        ("code", "-- ==\n-- input { 1 }\n--not", 20),
    ]


def test_markdown_has_no_html_and_no_scripts() -> None:
    made = html("<b onclick=x>a</b> [x](javascript:alert(1)) [y](https://a.b) `<i>`\n\n<script>1")
    assert "<b" not in made
    assert "<script" not in made
    assert 'href="javascript' not in made
    assert '<a href="https://a.b">y</a>' in made
    assert "<code>&lt;i&gt;</code>" in made


def test_values() -> None:
    found = directives("wave 2i64", '(1, "a", {b = [2], a = true})', "let x = 3i64 in grid x")
    assert [one["result"]["text"] for one in found] == [
        "([0.0f64, 1.0f64], [0.0f64, 2.0f64])",
        '(1i32, "a", {a = true, b = [2i32]})',
        directives("grid 3")[0]["result"]["text"],
    ]
    assert found[0]["text"] == "wave 2i64"
    assert found[2]["result"]["type"] == "[3][3]f32"


SUMS = """type c = #red | #rgb u8 u8
entry colours (n: u8): []c = [#red, #rgb 1 n]
entry first (v: {a: i32, b: [](i32, bool)}) = v.b[0]
entry same (v: {a: i32, b: [](i32, bool)}) = v
"""


def test_values_of_the_programs_types_read_as_the_program_writes_them() -> None:
    texts = ["colours 2u8", "[colours 1u8, colours 2u8]", "(colours 3u8, 1i32)",
             "same {a = 3, b = [(1i32, true)]}", "first (same {b = [(7i32, false)], a = 1})",
             "[same {a = 3, b = [(1i32, true)]}]", "[(1, true), (2, 3)]"]  # fmt: skip
    source = SUMS + "".join(f"\n-- > {text}\n" for text in texts)
    told = answer({"op": "literate", "source": source, "backend": "ref"})
    found = [block for block in told["blocks"] if block["kind"] == "directive"]
    assert [one["result"]["text"] for one in found[:-1]] == [
        "[#red, #rgb 1u8 2u8]",
        "[[#red, #rgb 1u8 1u8], [#red, #rgb 1u8 2u8]]",
        "([#red, #rgb 1u8 3u8], 1i32)",
        "{a = 3i32, b = [(1i32, true)]}",
        "(7i32, false)",
        "[{a = 3i32, b = [(1i32, true)]}]",
    ]
    assert "one type and shape" in found[-1]["error"]["message"]


DEFS = """def double (xs: []i32) : []i32 = map (* 2) xs
def k = 5i32
def grid = [[1i32, 2], [3, 4]]
def pair = ((1i64, {x = k}), [(true, 2f32)])
def plus = (+ k)
def size [n] 't (_: [n]t) = n
def twice (f: i32 -> i32) = f 2
def ones (n: i64): [n]i32 = replicate n 1
local def own = 3i32
module m = { def inner = 1i32 }
type c = #red | #rgb u8
def k' = 3u8
let colour : c = #rgb k'
"""


def test_definitions_are_called() -> None:
    texts = ["double [1, 2, 3]", "(k, double (double [k]))", "grid[1]", "grid[1, 0]", "pair",
             "pair.0.1.x", "let (a, b) = pair in let (c, _) = a in (c, b[0])", "plus 1",
             "ones k", "colour", "double[k]", "ones 2i64"]  # fmt: skip
    source = DEFS + "".join(f"\n-- > {text}\n" for text in texts)
    told = answer({"op": "literate", "source": source, "backend": "ref"})
    assert told["ok"], told
    found = [block for block in told["blocks"] if block["kind"] == "directive"]
    shown = [one["result"]["text"] if "result" in one else "" for one in found]
    assert shown == [
        "[2i32, 4i32, 6i32]",
        "(5i32, [20i32])",
        "[3i32, 4i32]",
        "3i32",
        "((1i64, {x = 5i32}), [(true, 2.0f32)])",
        "5i32",
        "(1i64, (true, 2.0f32))",
        "6i32",
        "",
        "#rgb 3u8",
        "[10i32]",
        "[1i32, 1i32]",
    ]


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("duoble [1]", "There is no entry point `duoble`.", "Did you mean `double`?"),
        ("size [1]", "A script cannot call `size`: it is for values of any type.", "Call it in"),
        ("twice plus", "A script cannot call `twice`: it takes or gives a function.", "Call it in"),
        ("(size [1], twice plus)", "A script cannot call `size`", ""),
        ("own", "There is no entry point `own`.", "Scripts can call"),
        ("inner", "There is no entry point `inner`.", ""),
        ("plus", "`plus` lacks arguments", ""),
    ],
)
def test_what_cannot_be_called_leaves_the_rest(text: str, says: str, hint: str) -> None:
    source = DEFS + f"\n-- > {text}\n\n-- > double [k]\n"
    told = answer({"op": "literate", "source": source, "backend": "ref"})
    wrong, right = (block for block in told["blocks"] if block["kind"] == "directive")
    assert says in wrong["error"]["message"]
    assert hint in wrong["error"].get("hint", "")
    assert right["result"]["text"] == "[10i32]"


def test_a_result_that_was_kept_reads_as_the_program_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "w.fut"
    for name in ("red", "rad"):
        path.write_text(SUMS.replace("red", name) + "\n-- > colours 1u8\n")
        assert main(["literate", str(path), "--backend", "ref"]) == 0
        assert f"[#{name}, #rgb" in (tmp_path / "w.html").read_text()


def test_pictures() -> None:
    (one,) = directives(":img grid 4i64")
    assert one["result"]["media"] == "image/png"
    picture = Image.open(io.BytesIO(data(one)))
    assert (picture.size, picture.mode) == ((4, 4), "L")
    assert picture.getpixel((3, 3)) == 255
    assert picture.getpixel((2, 2)) == round(4 / 9 * 255)


def test_a_moving_picture_is_stepped_or_given() -> None:
    stepped, given, gif = directives(
        ":video (step, 1i64, 3i64); fps: 5", ":video [grid 2, grid 2]", ":brief :video"
        " (step, 0i64, 2i64); format: gif; loop: false; autoplay: true",
    )  # fmt: skip
    with Image.open(io.BytesIO(data(stepped))) as shown:
        assert (shown.n_frames, shown.size, shown.info["duration"]) == (3, (3, 2), 200)
        shown.seek(2)
        assert shown.convert("RGB").getpixel((0, 0)) == (3, 6, 9)
    with Image.open(io.BytesIO(data(given))) as shown:
        assert shown.size == (2, 2)
    assert Image.open(io.BytesIO(data(gif))).format == "GIF"
    assert gif["text"].strip() == ":video (step, 0i64, 2i64)"


def test_sounds() -> None:
    (one,) = directives(":audio sound 10i64; sampling_frequency: 8000")
    with wave.open(io.BytesIO(data(one))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (8000, 1, 10)
        assert np.frombuffer(file.readframes(4), "<i2").tolist() == [0, 32767, 0, 32767]


def test_plots() -> None:
    one, two, covert = directives(
        ":plot2d wave 5i64; size: (300, 200)",
        ":plot2d {a=wave 5i64, b=wave 9i64}",
        ":covert :plot2d wave 5i64",
    )
    assert 'width="300" height="200"' in data(one).decode()
    assert data(two).decode().count("<polyline") == 2
    assert ">a</text>" in data(two).decode()
    assert covert["text"] == ""


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("fails 7i64", 0, 19, "Index [7] out of bounds"),
        ("wvae 3", 13, 6, "There is no entry point `wvae`"),
        ("wave (3", 13, 13, "Expected `,`"),
        (":imgg 3", 13, 1, "There is no directive `:imgg`"),
        (":img wave 3i64", 13, 1, "Expected one array"),
        (":img [1i8]", 13, 1, "A picture has two dimensions"),
        (":img grid 3i64; size: 3", 13, 1, "`size: 3` is no parameter here"),
        (":plot2d grid 3i64", 13, 1, "A line must be a pair of arrays"),
        (":video (wave, 1i64, 3i64, 4i64)", 13, 1, "a step, a state and a number"),
        (":audio sound 3i64; codec: ogg", 13, 1, "Only WAV"),
        (":gnuplot wave 3i64; plot x", 13, 1, "its script can run commands of the shell"),
        (":brief :gnuplot {a=wave 3i64}; system 'id'", 13, 1, "`:gnuplot` is not run"),
        ("wave", 13, 1, "lacks arguments"),
        ('$loaddata "x"', 13, 6, "not among the program's files"),
    ],
)
def test_errors_stand_at_their_directives(text: str, line: int, column: int, says: str) -> None:
    before, found = directives("1", text)
    assert "result" in before
    assert says in found["error"]["message"]
    span = found["error"]["span"]
    assert (span[0], span[1]) == ((line + 2, column) if line else (11, 24))


def test_what_gnuplot_is_told_to_draw_is_drawn_by_plot2d() -> None:
    refused, drawn = directives(
        ":gnuplot {a=wave 5i64, b=wave 9i64};\n-- plot a with lines",
        ":plot2d {a=wave 5i64, b=wave 9i64}",
    )
    assert "result" not in refused
    assert refused["text"].startswith(":gnuplot")
    assert ":plot2d {a=(xs, ys), b=(xs, zs)}" in refused["error"]["hint"]
    assert data(drawn).decode().count("<polyline") == 2


def test_media_of_all_types() -> None:
    for kind in ("bool", "uint8", "float16", "float32", "float64", "uint32", "int32"):
        made = Image.open(io.BytesIO(media.png(np.ones((2, 3), kind))))
        assert made.size == (3, 2)
    for kind in ("uint8", "int8", "int16", "int32", "float32", "float64"):
        assert media.samples(media.wav(np.zeros((2, 5), kind), 100)).shape == (2, 5)
    back = media.pixels(media.png(np.array([[0x00FF8001]], "u4")))
    assert back.dtype == np.uint32
    assert back.tolist() == [[0xFFFF8001]]
    for bad in (np.zeros(3), np.zeros((0, 3)), np.zeros((1, 1), "int8"), np.zeros((1, 1, 1))):
        with pytest.raises(InputError):
            media.png(bad)
    for wrong in (media.pixels, media.samples):
        with pytest.raises(InputError):
            wrong(b"nothing")
    nan = np.array([np.nan, 1.0, np.inf])
    assert "nan" not in plot.svg([("<", nan, nan)], 200, 200)
    assert "&lt;" in plot.svg([("<", nan, nan)], 200, 200)
    assert plot.svg([("", np.full(2, 1e300), np.full(2, -1e308))], 200, 200)


def test_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "w.fut"
    path.write_text(PROGRAM + "\n-- > :img grid 2i64\n\n-- > wave 1i64\n")
    assert main(["literate", str(path), "--backend", "ref"]) == 0
    page = (tmp_path / "w.html").read_text()
    assert "<h1>Waves</h1>" in page
    assert 'src="data:image/png;base64,' in page
    assert "[0.0f64]" in page
    assert "http" not in page.replace("http-equiv", "")
    assert main(["literate", str(path), "--backend", "ref", "--to", str(tmp_path / "o.md")]) == 0
    text = (tmp_path / "o.md").read_text()
    (picture,) = (tmp_path / "o-img").iterdir()
    assert f"![](o-img/{picture.name})" in text
    path.write_text(PROGRAM + "\n-- > wvae 1i64\n")
    assert main(["literate", str(path), "--backend", "ref"]) == 1
    assert "no entry point `wvae`" in (tmp_path / "w.html").read_text()
    assert capsys.readouterr().err == ""


NOTEBOOK = """
-- # A page
--
-- of text.
def a = 1i64

-- Text behind code,
-- and code behind it.

def b = 2i64


-- Text before a directive.

-- > (a, 0.05, 0.1, 1e7, 1234567.5, -1e-8, 0.0, -0.0, "0.05f64")

-- Text behind it.

-- > b

-- > (a, b)

-- ==
-- entry: both
-- input { 1i64 }
--
-- output { 2i64 }
-- ==
-- entry: both

-- ==
-- entry: both
entry both (x: i64) =
  -- In code.
  x + 1
-- Text at once.

-- More.
-- > c
"""
PAGE = """
# A page

of text.

```futhark
def a = 1i64
```

Text behind code,
and code behind it.

```futhark
def b = 2i64
```

Text before a directive.


```
> (a, 0.05, 0.1, 1e7, 1234567.5, -1e-8, 0.0, -0.0, "0.05f64")
```

```
(1i64, 5.0e-2f64, 0.1f64, 1.0e7f64, 1234567.5f64, -1.0e-8f64, 0.0f64, -0.0f64, "0.05f64")
```


Text behind it.


```
> b
```

```
2i64
```


```
> (a, b)
```

```
(1i64, 2i64)
```


```futhark
-- ==
-- entry: both
-- input { 1i64 }
--\x20
-- output { 2i64 }
-- ==
-- entry: both
```


```futhark
-- ==
-- entry: both
```

```futhark
entry both (x: i64) =
  -- In code.
  x + 1
```

Text at once.


More.
> c
"""


def test_a_page_in_markdown_is_what_futhark_makes_of_it(tmp_path: Path) -> None:
    path = tmp_path / "page.fut"
    for more in ("", "\n", "def c = 3i64\n"):
        path.write_text(NOTEBOOK + more)
        assert (
            main(["literate", str(path), "--backend", "ref", "--to", str(tmp_path / "p.md")]) == 0
        )
        end = "\n```futhark\ndef c = 3i64\n```\n" if more.strip() else more
        assert (tmp_path / "p.md").read_text() == PAGE + end


def test_results_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "w.fut"
    made: list[object] = []
    real = media.png
    monkeypatch.setattr(media, "png", lambda value: made.append(value) or real(value))
    for text in ("-- > :img grid 2i64", "-- Other text.\n\n-- > :img grid 2i64"):
        path.write_text(f"{PROGRAM}\n{text}\n")
        assert main(["literate", str(path), "--backend", "ref"]) == 0
    assert len(made) == 1
    path.write_text(PROGRAM.replace("/ 9", "/ 8") + "\n-- > :img grid 2i64\n")
    assert main(["literate", str(path), "--backend", "ref"]) == 0
    assert len(made) == 2


def test_a_directive_of_several_lines_is_shown_without_the_signs_of_comments() -> None:
    (one,) = directives(":img grid 3i64;\n--   file: a.png")
    assert one["text"] == ":img grid 3i64;\n  file: a.png"


def test_a_directive_that_fails_is_shown_as_the_others() -> None:
    (one,) = directives(":gnuplot {a=(xs, ys)};\n-- plot a with lines, \\\n--   b")
    assert one["text"] == ":gnuplot {a=(xs, ys)};\nplot a with lines, \\\n  b"
