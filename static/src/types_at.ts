// What is under the mouse, with its type: the line of the typed program that shows it.
import type { EditorView } from "@codemirror/view";
import type { Link } from "./link";
import { columnOf } from "./lit";
import type { Model } from "./model";
import { keyOf } from "./spans";
import type { Span } from "./types";

const MOST = 4;

/** The place of an expression, and the lines that show it. */
export function typedAt(model: Model, link: Link, view: EditorView, at: number): [Span, string] | null {
  const line = view.state.doc.lineAt(at);
  const place = link.at(model.files.pathOf(model.files.open), line.number, columnOf(line, at))?.spans[0];
  const lines = place ? typedLines(model, place) : [];
  if (!place || !lines.length) return null;
  const shown = lines.slice(0, MOST);
  const indent = Math.min(...shown.map((text) => Math.max(0, text.search(/\S/))));
  const text = shown.map((one) => one.slice(indent)).join("\n");
  return [place, lines.length > MOST ? `${text}\n…` : text];
}

/** The first lines of the first stage with types whose own place it is. */
function typedLines(model: Model, place: Span): string[] {
  const info = model.present().find((stage) => stage.kind === "typed");
  const stage = info && model.stages.get(info.id);
  if (!stage || stage.stale) return [];
  const key = keyOf(place);
  return stage.lines.filter((line) => line.src[0] && keyOf(line.src[0]) === key).map((line) => line.text);
}
