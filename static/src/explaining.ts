// Notation that explains itself in a pane, under the mouse and under the cursor (F1); numbers of names out of the way.
import { StateEffect, StateField, type Extension, type Text } from "@codemirror/state";
import {
  Decoration,
  type EditorView,
  hoverTooltip,
  keymap,
  showTooltip,
  ViewPlugin,
  type DecorationSet,
  type Tooltip,
  type ViewUpdate,
} from "@codemirror/view";
import { explained, notationAt } from "./notation";
import { slices } from "./dom";
import { NAME, Numbers } from "./numbers";

async function tipAt(doc: Text, at: number): Promise<Tooltip | null> {
  const line = doc.lineAt(at);
  const found = notationAt(line.text, at - line.from);
  if (!found) return null;
  const dom = await explained(found.word, line.text.slice(found.from, found.to));
  return { pos: line.from + found.from, end: line.from + found.to, above: true, create: () => ({ dom }) };
}

/** Show what is under the cursor, unless that has moved, or the text changed, before it is known. */
async function tell(view: EditorView): Promise<void> {
  const { doc, selection } = view.state;
  const shown = await tipAt(doc, selection.main.head);
  if (view.state.doc === doc && view.state.selection.eq(selection)) view.dispatch({ effects: setTip.of(shown) });
}

const setTip = StateEffect.define<Tooltip | null>();
const tip = StateField.define<Tooltip | null>({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setTip)) return effect.value;
    return transaction.docChanged || transaction.selection ? null : value;
  },
  provide: (self) => showTooltip.from(self),
});

export const explaining: Extension = [
  hoverTooltip((view, at) => tipAt(view.state.doc, at), { hoverTime: 350 }),
  tip,
  keymap.of([
    {
      key: "F1",
      preventDefault: true,
      run: (view) => {
        void tell(view);
        return true;
      },
    },
    {
      key: "Escape",
      run: (view) => {
        const open = view.state.field(tip) !== null;
        if (open) view.dispatch({ effects: setTip.of(null) });
        return open;
      },
    },
  ]),
];

const number = Decoration.mark({ class: "name-number" });

const AT_ONCE = 100; // lines
const NONE: ReadonlySet<string> = new Set();

/**
 * Makes the numbers at the end of names invisible, unless two names would be the same. A long text is read in
 * slices first.
 */
export const namesAlone = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    private names = NONE;
    private marked = NONE;
    private doc: Text | null;

    constructor(view: EditorView) {
      this.doc = view.state.doc;
      this.read(view);
      this.decorations = this.marks(view);
    }

    update({ docChanged, viewportChanged, view }: ViewUpdate): void {
      if (docChanged) {
        this.doc = view.state.doc;
        this.read(view);
      }
      if (docChanged || viewportChanged || this.names !== this.marked) this.decorations = this.marks(view);
    }

    destroy(): void {
      this.doc = null;
    }

    private read(view: EditorView): void {
      const { doc } = this;
      const numbers = new Numbers();
      let isSlow = false;
      this.names = NONE;
      const lines = doc!.iterLines();
      for (let k = 0; k < AT_ONCE && !lines.next().done; k += 1) numbers.read(lines.value);
      if (lines.done) {
        // Whatever else there is to do, or a short text would be seen with its numbers first.
        this.names = numbers.alone;
        return;
      }
      slices(
        lines,
        (text) => numbers.read(text),
        () => doc === this.doc,
        () => {
          this.names = numbers.alone;
          if (isSlow) view.dispatch({});
        },
      );
      isSlow = true;
    }

    private marks(view: EditorView): DecorationSet {
      this.marked = this.names;
      const found = view.visibleRanges.flatMap(({ from, to }) =>
        [...view.state.sliceDoc(from, to).matchAll(NAME)].flatMap(({ index, 0: whole, 1: name, 2: its }) =>
          its && this.names.has(name!) ? [number.range(from + index + name!.length, from + index + whole.length)] : [],
        ),
      );
      return Decoration.set(found);
    }
  },
  { decorations: (self) => self.decorations },
);
