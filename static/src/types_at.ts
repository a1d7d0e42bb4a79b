// What is under the mouse, with its type: the line of the typed program that shows it.
import { hoverTooltip, type EditorView } from "@codemirror/view";
import type { Extension } from "@codemirror/state";
import { h } from "./dom";
import type { Link } from "./link";
import { columnOf, rangeOf } from "./lit";
import type { Model } from "./model";
import { keyOf } from "./spans";
import type { Span } from "./types";

const MOST = 4;

export function typesAt(model: Model, link: Link): Extension {
  return hoverTooltip((view, at) => {
    const line = view.state.doc.lineAt(at);
    const place = link.at(model.files.pathOf(model.files.open), line.number, columnOf(line, at))?.spans[0];
    const lines = place ? typedLines(model, place) : [];
    const range = place && rangeOf(view.state.doc, place);
    if (!range || !lines.length) return null;
    return { pos: range[0], end: range[1], above: true, create: (_view: EditorView) => ({ dom: tooltip(lines) }) };
  }, { hoverTime: 500 });
}

/** The first lines of the first stage with types whose own place it is. */
function typedLines(model: Model, place: Span): string[] {
  const info = model.present().find((stage) => stage.kind === "typed");
  const stage = info && model.stages.get(info.id);
  if (!stage || stage.stale) return [];
  const key = keyOf(place);
  return stage.lines.filter((line) => line.src[0] && keyOf(line.src[0]) === key).map((line) => line.text);
}

function tooltip(lines: readonly string[]): HTMLElement {
  const shown = lines.slice(0, MOST);
  const indent = Math.min(...shown.map((line) => Math.max(0, line.search(/\S/))));
  const text = shown.map((line) => line.slice(indent)).join("\n");
  return h("pre", { class: "type-tip" }, lines.length > MOST ? `${text}\n…` : text);
}
