"""`stridescope literate`: a literate program as one page of HTML, or as Markdown with pictures."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
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
            target.write_text(markdown(found, target), "utf-8")
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


def markdown(blocks: Sequence[Block], target: Path) -> str:
    """Render a program as Markdown; pictures and sounds go to a folder beside `target`."""
    folder = target.with_name(f"{target.stem}-img")
    parts: list[str] = []
    for number, block in enumerate(blocks):
        if block["kind"] == "text":
            parts.append(block["text"])
            continue
        text = block["text"].strip("\n")
        if text:
            parts.append(
                _fenced("futhark", text if block["kind"] == "code" else f"> {text.strip()}")
            )
        if "error" in block:
            parts.append(_fenced("", block["error"]["message"]))
        elif "data" in block.get("result", {}):
            result = block["result"]
            folder.mkdir(exist_ok=True)
            file = folder / f"{number}.{_ENDINGS[result['media']]}"
            file.write_bytes(base64.b64decode(result["data"]))
            parts.append(f"![]({folder.name}/{file.name})")
        elif "result" in block:
            parts.append(_fenced("", block["result"]["text"]))
    return "\n\n".join(parts) + "\n"


def _fenced(language: str, text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
