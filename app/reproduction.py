"""Show the items of five documents beside this product: a row for each, with a program.

Rows are those of docs/thesis.md and docs/seeds.md, figures those recorded by `bench.thesis`;
`reproduction.toml` maps items to programs. A row without a figure has not been measured.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from flask import Blueprint, abort, render_template
from markupsafe import Markup, escape

from app.context import parts
from app.gallery import Example
from app.highlight import html_lines, kind_of, quoted
from app.paths import HERE, page_root

blueprint = Blueprint("reproduction", __name__)
DOCUMENTS = ("thesis.md", "seeds.md")
SHOWN = HERE / "reproduction.toml"
NOT_YET, OTHERWISE = "**Not yet**", "**By other means**"
_EXAMPLE = re.compile(r"`app/examples/(\w+)\.f(?:ut|p)`")
_ROW = re.compile(r"(?<!\\)\|")
_INLINE = re.compile(
    r"\*\*(?P<bold>.+?)\*\*|(?<![\w*`])\*(?P<italic>[^*`]+)\*|\[(?P<link>[^\]]+)\]\([^)]+\)"
)


@dataclass(frozen=True, slots=True)
class ShownProgram:
    """A program, and the view to open: a stage, perhaps a pane, and a part of the text."""

    source: str
    stage: str
    tab: str
    code: str
    main: str = ""
    example: str = ""
    """The name of the example, if it is one."""


@dataclass(frozen=True, slots=True)
class PrintedItem:
    """A row: the printed item, its counterpart here, the difference, and measurements."""

    slug: str
    name: str
    where: str
    differs: str
    shown: ShownProgram | None
    printed: str = ""
    """The document's figures, if any."""
    figures: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Return `here`, `otherwise` or `not yet`."""
        if self.where.startswith(NOT_YET):
            return "not yet"
        return "otherwise" if self.where.startswith(OTHERWISE) else "here"


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A chapter of the thesis, or one of the other documents."""

    title: str
    items: tuple[PrintedItem, ...]


@dataclass(frozen=True, slots=True)
class HowMeasured:
    """The circumstances of a measurement."""

    command: str
    machine: str
    busy: bool


@blueprint.get("/reproduction/")
def reproduction() -> str:
    """Render all items of the five documents."""
    found = _parts_of(parts().examples())
    states = Counter(item.state for part in found for item in part.items)
    opened = sum(item.shown is not None for part in found for item in part.items)
    return render_template(
        "reproduction.html", found=found, states=states, opened=opened, measured=measured()
    )


@blueprint.get("/reproduction/<slug>")
def program(slug: str) -> str:
    """Render the page at the stage and the pane that show an item."""
    found = [item for part in _parts_of(parts().examples()) for item in part.items]
    item = next((item for item in found if item.slug == slug), None)
    if item is None or item.shown is None:
        abort(404, "No program shows that.")
    shown = item.shown
    return render_template(
        "ide.html",
        program={"source": shown.source} | ({"main": shown.main} if shown.main else {}),
        look={"stage": shown.stage, "tab": shown.tab, "code": shown.code, "text": "", "object": ""},
        titled=plain(item.name),
        lines=html_lines(shown.source, kind_of(shown.main)),
        examples=parts().examples(),
    )


@cache
def _parts_of(examples: tuple[Example, ...]) -> tuple[DocumentPart, ...]:
    return tuple(every_part(examples))


def every_part(examples: Sequence[Example]) -> Iterator[DocumentPart]:
    """Yield the tables of the documents, in order."""
    shown = all_shown(examples)
    figures = recorded().get("figures", {})
    by_table = {f"Table {one['table']}": one for one in figures.values()}
    taken: Counter[str] = Counter()
    for name in DOCUMENTS:
        title = ""
        rows: list[PrintedItem] = []
        for line in [*folder("docs").joinpath(name).read_text("utf-8").splitlines(), "## "]:
            if line.startswith("## "):
                if rows:
                    yield DocumentPart(title, tuple(rows))
                title, rows = line.removeprefix("## "), []
            elif line.startswith("| ") and not line.startswith("| Item "):
                cells = [cell.strip().replace("\\|", "|") for cell in _ROW.split(line)[1:-1]]
                rows.append(_item(cells, shown, by_table, taken))


def _item(
    cells: list[str],
    shown: Mapping[str, ShownProgram],
    by_table: Mapping[str, Mapping[str, Any]],
    taken: Counter[str],
) -> PrintedItem:
    name, where, differs = cells
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
    taken[slug] += 1
    if taken[slug] > 1:
        slug = f"{slug}-{taken[slug]}"
    example = _EXAMPLE.search(where)
    program = shown.get(name) or (shown.get(f"example {example[1]}") if example else None)
    figures = by_table.get(name.partition(",")[0])
    if figures is None:
        return PrintedItem(slug, name, where, differs, program)
    printed = f"Times as fast with the pass, A100 and MI100: {figures['printed']}"
    return PrintedItem(slug, name, where, differs, program, printed, tuple(_told(figures)))


def all_shown(examples: Sequence[Example]) -> dict[str, ShownProgram]:
    """Return programs by item; those of examples also by `example NAME`."""
    told = tomllib.loads(SHOWN.read_text("utf-8"))
    by_name = {example.name: example for example in examples}
    found: dict[str, ShownProgram] = {}
    for name, example in by_name.items():
        if example.looks:
            found[f"example {name}"] = _of_example(example, len(example.looks))
    for item, which in told["looks"].items():
        name, _, number = which.partition(" ")
        if name in by_name:
            found[item] = _of_example(by_name[name], int(number))
        elif name in told["programs"]:
            one = told["programs"][name]
            whole = told["programs"].get(one.get("of"), {}) | one
            source = whole["source"].lstrip("\n")
            found[item] = ShownProgram(source, whole["stage"], whole["tab"], whole["code"])
    return found


def _of_example(example: Example, number: int) -> ShownProgram:
    look = example.looks[number - 1]
    return ShownProgram(example.source, look.stage, look.tab, look.code, example.main, example.name)


def _told(one: Mapping[str, Any]) -> Iterator[str]:
    """Yield the figures of a table's program, a sentence each."""
    targets = (("c", "C on all cores", "C"), ("cuda", "CUDA", "a GPU"))
    for target, title, machine in targets:
        found = one.get(target, {})
        if "impact" in found:
            yield (
                f"{title}, {one['input']}: {found['impact']} times as fast with the pass, "
                f"{found['without_ms']:,.0f} ms without and {found['with_ms']:,.0f} ms with it."
            )
        else:
            yield f"On {machine}: not measured."
        if "with" in found:
            before, after = found["without"], found["with"]
            yield (
                f"Copied {before['copied_mb']:,.1f} MB without and {after['copied_mb']:,.1f} MB "
                f"with it; allocated {before['allocated_mb']:,.1f} and "
                f"{after['allocated_mb']:,.1f} MB."
            )
        if "built" in found:
            yield (
                f"For {title.split()[0]}, {found['built']} attempts to build in place succeed, "
                f"{found['left']} fail; the text has {found['allocations']} allocations."
            )
    if one.get("futhark_allocations") is not None:
        yield f"Futhark's text has {one['futhark_allocations']} allocations (`--gpu-mem`)."


def measured() -> HowMeasured | None:
    """Return how the figures were measured; None where there are none."""
    record = recorded()
    if not record:
        return None
    machine = record["machine"]
    words = f"{machine['processor']}, {machine['cores']} cores, {machine['date']}"
    commit = f", at {machine['commit']}" if machine.get("commit") else ""
    return HowMeasured(record["command"], words + commit, bool(record.get("busy")))


@cache
def recorded() -> dict[str, Any]:
    """Load the record of `bench.thesis`, or {}."""
    file = folder("bench") / "results" / "thesis.json"
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def folder(name: str) -> Path:
    """Return a folder of the checkout, or its copy in an installed package."""
    return page_root() / name


def marked(text: str) -> Markup:
    """Render a cell of a document's table as HTML: code, bold, italic, and links as their words."""
    pieces: list[Markup] = []
    for k, piece in enumerate(text.split("`")):
        if k % 2:
            pieces.append(quoted(f"`{piece}`"))
            continue
        at = 0
        for found in _INLINE.finditer(piece):
            pieces.append(escape(piece[at : found.start()]))
            kind = found.lastgroup or 0
            tag = Markup({"bold": "strong", "italic": "em"}.get(str(kind), "span"))
            pieces.append(Markup("<{0}>{1}</{0}>").format(tag, found[kind]))
            at = found.end()
        pieces.append(escape(piece[at:]))
    return Markup("").join(pieces)


def plain(text: str) -> str:
    """Strip all markup but code."""
    return _INLINE.sub(lambda found: found[found.lastgroup or 0], text)
