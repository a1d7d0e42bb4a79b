// Highlighting: small stream languages for Futhark, FlatPack, the compiler's own languages and C.
import { HighlightStyle, StreamLanguage, StringStream, syntaxHighlighting } from "@codemirror/language";
import { RangeSetBuilder, type Extension } from "@codemirror/state";
import { Decoration, ViewPlugin, type DecorationSet, type EditorView, type ViewUpdate } from "@codemirror/view";
import { tags as t } from "@lezer/highlight";
import { FLATPACK } from "./files";
import {
  C_TYPES,
  C_WORDS,
  FLATPACK_FUNCTIONS,
  FLATPACK_KEYWORDS,
  FLATPACK_TYPES,
  FUNCTIONS,
  IR_WORDS,
  KEYWORDS,
  PRIMS,
} from "./words";

const HEXADECIMAL = /0[xX][0-9a-fA-F_]+(?:\.[0-9a-fA-F_]+[pP][+-]?\d+)?/;
const BINARY = /0[bB][01_]+/;
const ROMAN = /0[rR][IVXLCDM]+/;
const DECIMAL = /\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?/;
const TYPE = /(?:[iuf](?:8|16|32|64)|[uUlLfF]+)?/;
const NUMBER = new RegExp(
  `^(?:${[HEXADECIMAL, BINARY, ROMAN, DECIMAL].map(({ source }) => source).join("|")})${TYPE.source}`,
);
const NAME = /^[A-Za-z_][\w']*/;
const OPERATOR = /^[-+*/%=<>!&|^@~.?\\]+/;

interface Mode {
  comment: boolean;
  after: string;
}

type Words = (word: string, stream: StringStream, mode: Mode) => string | null;

function common(stream: StringStream, words: Words, mode: Mode): string | null {
  if (stream.match(/^"(?:\\.|[^"\\])*"?/)) return "string";
  if (stream.match(/^'(?:\\.|[^'\\])'/)) return "character";
  if (stream.match(NUMBER)) return "number";
  const name = stream.match(NAME) as RegExpMatchArray | null;
  if (name) {
    const style = words(name[0], stream, mode);
    mode.after = name[0];
    return style;
  }
  if (stream.match(OPERATOR)) {
    mode.after = stream.current();
    return "operator";
  }
  stream.next();
  return null;
}

function futharkWord(word: string, stream: StringStream, mode: Mode): string | null {
  if (mode.after === "def" || mode.after === "entry") return "def";
  if (KEYWORDS.has(word)) return "keyword";
  if (PRIMS.has(word)) return stream.peek() === "." ? "namespace" : "typeName";
  if (stream.peek() === "." && /^\.[a-z(]/i.test(stream.string.slice(stream.pos))) return "namespace";
  return FUNCTIONS.has(word) ? "builtin" : "variableName";
}

function flatpackWord(word: string, stream: StringStream): string {
  if (stream.start === 0 && word !== "type") return "def";
  if (FLATPACK_KEYWORDS.has(word)) return "keyword";
  if (FLATPACK_TYPES.has(word) || PRIMS.has(word)) return "typeName";
  return FLATPACK_FUNCTIONS.has(word) ? "builtin" : "variableName";
}

function irWord(word: string, stream: StringStream, mode: Mode): string | null {
  if (PRIMS.has(word)) return "typeName";
  if (mode.after === "@") return "labelName";
  if (IR_WORDS.has(word) || KEYWORDS.has(word)) return "keyword";
  return stream.peek() === "(" ? "def" : "variableName";
}

function cWord(word: string, stream: StringStream): string | null {
  if (C_TYPES.has(word)) return "typeName";
  if (C_WORDS.has(word)) return "keyword";
  return stream.peek() === "(" ? "def" : "variableName";
}

type Tokens = (stream: StringStream, mode: Mode) => string | null;

const begin = (): Mode => ({ comment: false, after: "" });

function tokens(words: Words, comment: RegExp, block = false): Tokens {
  return (stream, mode) => {
    if (mode.comment) {
      if (stream.match(/^.*?\*\//)) mode.comment = false;
      else stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match(comment)) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match(/^#\[[^\]]*\]/)) return "meta";
    if (block && stream.sol() && stream.match(/^\s*#/)) {
      stream.skipToEnd();
      return "meta";
    }
    if (block && stream.match(/^\/\*/)) {
      mode.comment = true;
      return "comment";
    }
    if (!block && stream.match(/^'[~^]?[A-Za-z_]\w*(?!')/)) return "typeName";
    if (!block && stream.match(/^#[A-Za-z_]\w*/)) return "atom";
    return common(stream, words, mode);
  };
}

const futharkTokens = tokens(futharkWord, /^--/);
const language = (name: string, token: Tokens): Extension =>
  StreamLanguage.define<Mode>({
    name,
    token,
    startState: begin,
    copyState: (mode) => ({ ...mode }),
    tokenTable: { builtin: t.standard(t.name), def: t.definition(t.name) },
    languageData: { commentTokens: { line: "--" }, wordChars: "_'" },
  });
const futhark = language("futhark", futharkTokens);
const flatpack = language("flatpack", tokens(flatpackWord, /^--/));

/** The language of a program's file. */
export const sourceLanguage = (path: string): Extension => (path.endsWith(FLATPACK) ? flatpack : futhark);

/** Class names are those of the pages that the server highlights. */
const CLASSES: Record<string, string> = {
  comment: "t-comment",
  keyword: "t-keyword",
  typeName: "t-type",
  atom: "t-type",
  def: "t-def",
  builtin: "t-fun",
  namespace: "t-fun",
  labelName: "t-block",
  number: "t-number",
  string: "t-string",
  character: "t-string",
  operator: "t-op",
  meta: "t-op",
};
const TAGS = { ...t, builtin: t.standard(t.name), def: t.definition(t.name) };
export const highlighting = syntaxHighlighting(
  HighlightStyle.define(Object.entries(CLASSES).map(([name, its]) => ({ tag: TAGS[name as "comment"], class: its }))),
);

const marks = Object.fromEntries(Object.entries(CLASSES).map(([name, its]) => [name, Decoration.mark({ class: its })]));
const LONGEST = 200; // lines of a comment that are looked back for its beginning

/** True if a line is inside of a comment that began above it. */
function isInside({ state: { doc } }: EditorView, line: number): boolean {
  for (let at = line - 1; at >= Math.max(1, line - LONGEST); at -= 1) {
    const { text } = doc.line(at);
    const [open, close] = [text.lastIndexOf("/*"), text.lastIndexOf("*/")];
    if (open >= 0 || close >= 0) return open > close;
  }
  return false;
}

/** Colours what is drawn of a text that is only read, however long that is. */
function painted(token: Tokens, block: boolean): Extension {
  const paint = (view: EditorView): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>();
    let at = 0; // ranges may share a line
    for (const { from, to } of view.visibleRanges) {
      const mode = begin();
      mode.comment = block && isInside(view, view.state.doc.lineAt(from).number);
      for (at = Math.max(at, from); at <= to; ) {
        const line = view.state.doc.lineAt(at);
        const stream = new StringStream(line.text, 2, 2);
        while (!stream.eol()) {
          const mark = marks[token(stream, mode) ?? ""];
          if (mark) builder.add(line.from + stream.start, line.from + stream.pos, mark);
          stream.start = stream.pos;
        }
        at = line.to + 1;
      }
    }
    return builder.finish();
  };
  return ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      constructor(view: EditorView) {
        this.decorations = paint(view);
      }
      update({ docChanged, viewportChanged, view }: ViewUpdate): void {
        if (docChanged || viewportChanged) this.decorations = paint(view);
      }
    },
    { decorations: (self) => self.decorations },
  );
}

const paintedC = painted(tokens(cWord, /^\/\//, true), true);
const paintedFuthark = painted(futharkTokens, false);
const paintedIr = painted(tokens(irWord, /^--/), false);

/** The colours of a stage's text, by the kind that the manifest gives it. */
export function languageOf(kind: string): Extension {
  if (kind === "text" || kind === "listing") return paintedC;
  return kind === "typed" ? paintedFuthark : paintedIr;
}
