// The margin that links panes: a bar in one of eight colours, and the source line's number.
import { RangeSetBuilder, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker, type BlockInfo, type DecorationSet } from "@codemirror/view";
import type { RangeSet } from "@codemirror/state";
import { h } from "./dom";
import { hueOf } from "./spans";

class SourceLine extends GutterMarker {
  constructor(
    private readonly text: string,
    private readonly hue: string,
    private readonly title: string,
  ) {
    super();
    this.elementClass = hue;
  }

  override eq(other: SourceLine): boolean {
    return other.text === this.text && other.hue === this.hue && other.title === this.title;
  }

  override toDOM(): Node {
    return this.title ? h("em", { title: this.title }, this.text) : document.createTextNode(this.text);
  }
}

export interface MarginLine {
  text: string;
  /** A number that decides the colour, such as the source line; 0: none. */
  hue: number;
  /** Where it is, if that is not the main file. */
  title?: string;
  className?: string;
}

const setMargin = StateEffect.define<readonly MarginLine[]>();

const field = StateField.define<RangeSet<GutterMarker>>({
  create: () => new RangeSetBuilder<GutterMarker>().finish(),
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setMargin)) continue;
      const builder = new RangeSetBuilder<GutterMarker>();
      let [number, at] = [0, 0];
      for (const text of transaction.state.doc.iterLines()) {
        const line = effect.value[number++];
        if (line && (line.text || line.hue || line.className)) {
          const hue = `${line.hue ? hueOf(line.hue) : ""} ${line.className ?? ""}`.trim();
          builder.add(at, at, new SourceLine(line.text, hue, line.title ?? ""));
        }
        at += text.length + 1;
      }
      return builder.finish();
    }
    return transaction.docChanged ? value.map(transaction.changes) : value;
  },
});

/** Lines of a difference are coloured as a whole. */
const rows = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setMargin)) continue;
      const builder = new RangeSetBuilder<Decoration>();
      const { doc } = transaction.state;
      effect.value.forEach((line, number) => {
        if (!line.className || number >= doc.lines) return;
        const at = doc.line(number + 1).from;
        builder.add(at, at, Decoration.line({ class: line.className }));
      });
      return builder.finish();
    }
    return transaction.docChanged ? value.map(transaction.changes) : value;
  },
  provide: (self) => EditorView.decorations.from(self),
});

/** A margin; `onClick` gets the line (from 0). */
export function margin(className: string, onClick?: (line: number) => void): Extension {
  return [
    field,
    rows,
    gutter({
      class: `margin ${className}`,
      markers: (view) => view.state.field(field),
      domEventHandlers: {
        mousedown: (view: EditorView, block: BlockInfo) => {
          onClick?.(view.state.doc.lineAt(block.from).number - 1);
          return false;
        },
      },
    }),
  ];
}

export function setMarginLines(lines: readonly MarginLine[]): StateEffect<readonly MarginLine[]> {
  return setMargin.of(lines);
}
