// Long lines wrap, and what is wrapped hangs below the line's own indentation.
import { RangeSetBuilder, type Extension } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";

const DEEPEST = 40;
const HANG = 4;

const rules = Object.fromEntries(
  Array.from({ length: DEEPEST + 1 }, (_, indent) => [
    `.cm-line.hang-${indent}`,
    { paddingLeft: `calc(8px + ${indent + HANG}ch)`, textIndent: `-${indent + HANG}ch` },
  ]),
);

const hanging = Array.from({ length: DEEPEST + 1 }, (_, indent) => Decoration.line({ class: `hang-${indent}` }));

function decorate(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      const indent = Math.max(0, line.text.search(/\S/));
      builder.add(line.from, line.from, hanging[Math.min(DEEPEST, indent)]!);
      at = line.to + 1;
    }
  }
  return builder.finish();
}

const plugin = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = decorate(view);
    }
    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.decorations = decorate(update.view);
    }
  },
  { decorations: (value) => value.decorations },
);

export const wrapping: Extension = [EditorView.lineWrapping, EditorView.theme(rules), plugin];
