"""`stridescope literate`: a literate program as one page of HTML, or as Markdown with pictures."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from html import escape
from itertools import groupby
from pathlib import Path

from compiler.base.errors import UsageError
from compiler.driver.disk import read_program
from compiler.notebooks import literate
from compiler.protocol.kinds import OfProgram, Options
from compiler.protocol.notebooks import Block
from compiler.testing.suite import beside

_STYLE = """\
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
pre { overflow: auto; padding: .5rem .75rem; background: #8881; font-size: .875rem; }
pre.directive { margin-bottom: 0; border-left: 3px solid #888; }
pre.result { margin-top: 0; border-left: 3px solid #888; background: none; }
img { max-width: 100%; image-rendering: auto; }
.error { border-left: 3px solid #c00; padding-left: .75rem; white-space: pre-wrap; }
:root { color-scheme: light dark; }"""
_ENDINGS = {
    "image/png": "png",
    "image/apng": "png",
    "image/gif": "gif",
    "image/svg+xml": "svg",
    "audio/wav": "wav",
}
_FLOAT = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?=f(?:16|32|64)\b)')
"""A float, or a text, in which there is none."""


def write(path: str, to: str, options: Options, backend: str, deadline: float) -> tuple[str, bool]:
    """Write the page of a program; return its path, and True if every directive has a result.

    Errors: of the program, and where it cannot be written.
    """
    program = read_program(path)
    asked = OfProgram(program.source, options, program.files, program.main)
    found = literate.run(asked, backend, deadline, beside(Path(path)), keep=True)["blocks"]
    target = Path(to) if to else Path(path).with_suffix(".html")
    try:
        if target.suffix == ".md":
            lines = program.source.removesuffix("\n").count("\n") + 1
            target.write_text(markdown(found, target, lines), "utf-8")
        else:
            target.write_text(page(found, Path(path).name), "utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write `{target}`: {error.strerror}.") from None
    return str(target), not any("error" in block for block in found)


def page(blocks: Sequence[Block], title: str) -> str:
    """Render one self-contained page."""
    body = "\n".join(map(_html, blocks))
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style>\n{body}\n</html>\n"
    )


def _html(block: Block) -> str:
    if block["kind"] == "text":
        return block["html"]
    if block["kind"] == "code":
        return f"<pre><code>{escape(block['text'])}</code></pre>"
    shown = f"<pre class=directive>&gt; {escape(block['text'].strip())}</pre>"
    return (shown if block["text"] else "") + _result_html(block)


def _result_html(block: Block) -> str:
    if "error" in block:
        error = block["error"]
        return f"<p class=error>{escape(error.get('rendered') or error['message'])}</p>"
    result = block["result"]
    if "data" not in result:
        return f"<pre class=result>{escape(result['text'])}</pre>"
    source = f"data:{result['media']};base64,{result['data']}"
    if result["media"].startswith("audio"):
        return f'<p><audio controls src="{source}"></audio></p>'
    alt = escape(block["text"].strip() or "a picture", quote=True)
    return f'<p><img src="{source}" alt="{alt}"></p>'


def markdown(blocks: Sequence[Block], target: Path, lines: int = 0) -> str:
    """Render a program of `lines` lines as Markdown, as `futhark literate` does.

    Pictures and sounds go to a folder beside `target`. Each block ends its line, and there is an
    empty line between two. Lines of the program that are empty are code, of which nothing is shown:
    where no other code is beside them, one more line is empty.
    """
    folder = target.with_name(f"{target.stem}-img")
    parts: list[str] = []
    end, was_code = 0, False
    for number, block in enumerate(blocks):
        for is_code, first, last, text in _runs(block):
            if first > end + 1 and not is_code and not was_code:
                parts.append("")
            if block["kind"] == "directive":
                text += f"\n{_result(block, folder, number)}"
            parts.append(text)
            end, was_code = last, is_code
    if lines > end and not was_code:
        parts.append("")
    return "\n".join(parts)


def _runs(block: Block) -> Iterator[tuple[bool, int, int, str]]:
    """Yield runs of lines of a block: True for code, the first and last line, what is shown.

    A test stands by itself.
    """
    first, last = int(block["src"][0]), int(block["src"][2])
    text = block["text"]
    if block["kind"] == "text":
        yield False, first, last, f"{text}\n"
    elif block["kind"] == "directive":
        yield False, first, last, _fenced("", f"> {text.strip()}") if text else ""
    else:
        for is_code, run in groupby(_in_tests(text.split("\n")), key=lambda one: one[0] is None):
            for _, of_one in groupby(run, key=lambda one: one[0]):
                shown = [line for _, line in of_one]
                said = "\n".join(shown).strip("\n")
                if said:
                    yield is_code, first, first + len(shown) - 1, _fenced("futhark", said)
                first += len(shown)


def _in_tests(lines: Sequence[str]) -> Iterator[tuple[int | None, str]]:
    """Yield lines of code with the number of the line where the test that they are of begins."""
    test: int | None = None
    for number, line in enumerate(lines):
        before = lines[number - 1][:2] if number else ""
        if not line.startswith("--"):
            test = None
        elif line.rstrip() == "-- ==" and before != "--":
            test = number
        yield test, line if test is None else f"-- {line[3:]}"


def _result(block: Block, folder: Path, number: int) -> str:
    """Return what stands below a directive."""
    if "error" in block:
        return f"\n**FAILED**\n{_fenced('', block['error']['message'])}"
    result = block["result"]
    if "data" not in result:
        return _fenced("", _as_futhark(result["text"]))
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.{_ENDINGS[result['media']]}"
    file.write_bytes(base64.b64decode(result["data"]))
    return f"![]({folder.name}/{file.name})\n"


def _as_futhark(text: str) -> str:
    """Write floats below 0.1, and those of at least 10^7, with an exponent, as Futhark does."""
    return _FLOAT.sub(_with_exponent, text)


def _with_exponent(found: re.Match[str]) -> str:
    if found[0][0] == '"':
        return found[0]
    number = Decimal(found[0])
    if not number or -1 <= number.adjusted() < 7:
        shown = f"{number:f}"
        return shown if "." in shown else f"{shown}.0"
    _, digits, _ = number.normalize().as_tuple()
    first, *rest = map(str, digits)
    sign = "-" if number < 0 else ""
    return f"{sign}{first}.{''.join(rest) or '0'}e{number.adjusted()}"


def _fenced(language: str, text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}\n"
