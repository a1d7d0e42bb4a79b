"""A frozen state for its page without JavaScript: plain lists, highlighted lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup

from app import previews
from app.graphs import GraphView, graph_views
from app.highlight import html_lines, kind_of
from app.proofs import AttemptView, FunctionView, attempt_view, memory_views, place
from app.unpacking import State, is_id
from compiler.protocol.kinds import Json


@dataclass(frozen=True, slots=True)
class StageView:
    """One stage: its entry in the manifest, and its lines with their source lines."""

    id: str
    title: str
    explain: str
    counts: str
    lines: list[tuple[Markup, Markup | str]]


@dataclass(frozen=True, slots=True)
class FrozenView:
    """Everything that the page prints."""

    title: str
    version: str
    made: str
    how: str
    """The compiler options in words, or ""."""
    sources: list[tuple[str, list[Markup]]]
    """The main file first, without a name if it is the only one."""
    error: Json | None
    stages: list[StageView]
    remarks: list[Json]
    attempts: list[AttemptView]
    memory: list[FunctionView]
    run: Json | None
    asked: list[Json]
    """Further questions: `op`, `request` and `answer`."""
    notes: list[str]
    """The author's notes, by lines."""
    said: str
    """A summary in one sentence, for previews of the link."""
    pictured: str
    graphs: list[GraphView]
    costs: list[Json]
    """The program's costs, worst first, as in the page's answer line."""
    sizes: str
    """The sizes that these numbers hold for."""
    against: str
    """The id of the link that its author compared it with, or ""."""

    def parts(self) -> dict[str, str]:
        """Return ids and titles of the parts that can be embedded."""
        found = {"source": "Source"}
        beside: dict[str, object] = {"run": self.run, "remarks": self.remarks}
        beside |= {"proofs": self.attempts, "memory": self.memory}
        found |= {name: name.capitalize() for name, there in beside.items() if there}
        return found | {stage.id: stage.title for stage in self.stages}


def frozen_view(state: State) -> FrozenView:
    """Prepare a state for its template."""
    view = state.get("view") or {}
    title = view.get("title") if isinstance(view.get("title"), str) else ""
    notes = view.get("notes") if isinstance(view.get("notes"), str) else ""
    title, stages = title or _title(str(state["source"])), _present(state)
    return FrozenView(
        notes=[line for line in (notes or "").split("\n") if line.strip()],
        said=_said(state, len(stages)),
        pictured=previews.said(state),
        title=title,
        version=str(state["version"]),
        made=str(state.get("made", ""))[:10],
        how=_how(state),
        sources=[(path, html_lines(text, kind_of(path))) for path, text in texts(state)],
        error=_error(state.get("error")),
        stages=[_stage(entry, state["stages"]) for entry in stages],
        remarks=[_remark(remark) for remark in state.get("remarks", [])],
        attempts=[attempt_view(attempt) for attempt in state.get("attempts") or ()],
        memory=_memory(state),
        run=state.get("run"),
        asked=state.get("asked") or [],
        graphs=graph_views(state.get("asked") or (), _titles(state)),
        costs=_costs(state)[:MOST_COSTS],
        sizes=_sizes(state),
        against=_against(view),
    )


MOST_COSTS = 8


def _of_costs(state: State) -> Json:
    """Return the link's answer to `costs`; older links have none."""
    asked = state.get("asked") or ()
    held = [one["answer"] for one in asked if one["op"] == "costs" and one["answer"]]
    return held[0] if held and held[0].get("ok") else {"costs": [], "sizes": {}}


def _costs(state: State) -> list[Json]:
    alike: dict[str, Json] = {}
    for one in _of_costs(state)["costs"]:
        told = alike.setdefault(repr((one["kind"], one["src"], one["says"])), {**one, "times": 0})
        told["times"] += one.get("times", 1)
    for one in alike.values():
        if one["times"] > 1 and one["kind"] != "unknown":
            one["says"] += f", {one['times']} times"
    return [{**one, "place": place(one["src"][:1])} for one in alike.values()]


def _sizes(state: State) -> str:
    return ", ".join(f"{name} = {size}" for name, size in _of_costs(state)["sizes"].items())


def _how(state: State) -> str:
    """Describe unusual compiler options, with ids in backquotes."""
    given = state.get("options") or {}

    def ids(name: str, said: str) -> list[str]:
        return [f"{said} {', '.join(f'`{one}`' for one in given[name])}"] if given.get(name) else []

    said = [f"for `{given['target']}`"] if given.get("target", "c") != "c" else []
    said += ids("disable", "without") + ids("enable", "with")
    said += [f"with {given['fuel']} rewrites"] if given.get("fuel") is not None else []
    said += [f"from the hand-written text of `{stage}`" for stage in given.get("edited") or {}]
    for name in ("thresholds", "limits"):
        numbers = (given.get(name) or {}).items()
        said += [f"with {', '.join(f'`{key}={n}`' for key, n in numbers)}"] if numbers else []
    return f"Compiled {', '.join(said)}." if said else ""


def _against(view: Json) -> str:
    """Return the link of program A, if the page has stored one."""
    a = view.get("a")
    link = a.get("link") if isinstance(a, dict) else None
    return link if isinstance(link, str) and is_id(link) else ""


def _said(state: State, stages: int) -> str:
    """Summarise the state in one sentence."""
    done = [attempt["done"] for attempt in state.get("attempts") or ()]
    built = f", {sum(done)} of {len(done)} arrays built in place" if done else ""
    if state.get("error"):
        return f"A frozen compilation that fails: {state['error']['message']}"
    return f"A frozen compilation: {stages} stages{built}."


def texts(state: State) -> list[tuple[str, str]]:
    """Return paths and texts of the program's files: the main one first, whose path may be ""."""
    files = sorted((state.get("files") or {}).items())
    return [(str(state.get("main", "")), str(state["source"])), *files]


def _error(error: Json | None) -> Json | None:
    return error and {
        **_placed(error),
        "related": [_placed(one) for one in error.get("related", ())],
    }


def _placed(told: Json) -> Json:
    return {**told, "place": place([told["span"]] if told.get("span") else [])}


def _memory(state: State) -> list[FunctionView]:
    return memory_views(state.get("lifetimes") or (), _titles(state))


def _titles(state: State) -> dict[str, str]:
    """Return the titles of stages by id."""
    return {str(entry["id"]): str(entry.get("title", "")) for entry in state["manifest"]}


_LONGEST = 80


def _title(source: str) -> str:
    """Return the first sentence of the source's first comment, or its first line, shortened.

    It has at most 80 characters. A sentence goes on in the next line of a comment if that begins
    with a small letter.
    """
    lines = iter(source.split("\n"))
    first = next((line.strip() for line in lines if line.strip(" \t\r-|")), "")
    words = _words(first)
    if first.startswith("--"):
        for line in lines:
            more = _words(line) if line.strip().startswith("--") else ""
            if not more[:1].islower():
                break
            words += " " + more
        words = re.split(r"(?<=[.!?])\s", words, maxsplit=1)[0]
    if len(words) > _LONGEST:
        words = words[: _LONGEST - 1].rsplit(" ", 1)[0] + "…"
    return words or "An empty program"


def _words(line: str) -> str:
    return line.strip().lstrip("-").lstrip(" |").strip()


def _present(state: State) -> list[Json]:
    return [entry for entry in state["manifest"] if entry["id"] in state["stages"]]


def _stage(entry: Json, stages: Json) -> StageView:
    stage = stages[entry["id"]]
    records = stage.get("lines") or [
        {"text": text} for text in stage["text"].removesuffix("\n").split("\n")
    ]
    marked = html_lines("\n".join(record["text"] for record in records), entry.get("kind", "ir"))
    marked += [Markup("")] * (len(records) - len(marked))
    lines = [(text, _places(record)) for text, record in zip(marked, records, strict=False)]
    return StageView(
        id=entry["id"],
        title=str(entry.get("title", entry["id"])),
        explain=entry.get("explain", ""),
        counts=", ".join(f"{name}: {n}" for name, n in stage.get("counts", {}).items() if n),
        lines=lines,
    )


def _places(record: Json) -> Markup | str:
    """Render the source line that a line shows, or ""."""
    spans = record.get("src") or []
    if spans and spans[0][4:]:
        return Markup('<em title="{}">{}</em>').format(spans[0][4], spans[0][0])
    return str(spans[0][0]) if spans else ""


def _remark(remark: Json) -> Json:
    spans = remark.get("src") or []
    spans = [spans] if spans and isinstance(spans[0], int) else spans
    return {**remark, "place": place(spans)}
