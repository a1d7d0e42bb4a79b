// What is under the mouse, with its type: the line of the typed program that shows it.
import { keyOf } from "./spans";
import type { Line, Span, StageInfo } from "./types";

const MOST = 4;

/** The place of an expression, and the first of the lines whose own place it is. */
export function typed(lines: readonly Line[], place: Span): [Span, string] | null {
  const key = keyOf(place);
  const found = lines.filter(({ src }) => src[0] && keyOf(src[0]) === key).map(({ text }) => text);
  if (!found.length) return null;
  const shown = found.slice(0, MOST);
  const indent = Math.min(...shown.map((text) => Math.max(0, text.search(/\S/))));
  const text = shown.map((one) => one.slice(indent)).join("\n");
  return [place, found.length > MOST ? `${text}\n…` : text];
}

/** The id of the first stage with types. */
export function typedStage(manifest: readonly StageInfo[]): string {
  return manifest.find(({ kind }) => kind === "typed")?.id ?? "";
}
