// Highlighting: small stream languages for Futhark, FlatPack, the compiler's own languages and C.
import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StringStream } from "@codemirror/language";
import { tags as t } from "@lezer/highlight";
import type { Extension } from "@codemirror/state";
import { FLATPACK } from "./files";
import { C_TYPES, C_WORDS, FLATPACK_FUNCTIONS, FLATPACK_KEYWORDS, FLATPACK_TYPES, FUNCTIONS, IR_WORDS, KEYWORDS, PRIMS } from "./words";

const NUMBER = /^(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)(?:[iuf](?:8|16|32|64)|[uUlLfF]+)?/;
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

function language(name: string, words: Words, comment: RegExp, block: boolean) {
  return StreamLanguage.define<Mode>({
    name,
    startState: () => ({ comment: false, after: "" }),
    copyState: (mode) => ({ ...mode }),
    token(stream, mode) {
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
    },
    tokenTable: { builtin: t.standard(t.name), def: t.definition(t.name) },
    languageData: { commentTokens: { line: block ? "//" : "--" }, wordChars: "_'" },
  });
}

const futhark = language("futhark", futharkWord, /^--/, false);
const flatpack = language("flatpack", flatpackWord, /^--/, false);
const ir = language("ir", irWord, /^--/, false);
const c = language("c", cWord, /^\/\//, true);

/** The language of a program's file. */
export const sourceLanguage = (path: string): Extension => path.endsWith(FLATPACK) ? flatpack : futhark;

/** The language of a stage's text, by the kind that the manifest gives it. */
export function languageOf(kind: string): Extension {
  if (kind === "text" || kind === "listing") return c;
  return kind === "typed" ? futhark : ir;
}

/** Class names are those of the pages that the server highlights. */
export const highlighting = syntaxHighlighting(
  HighlightStyle.define([
    { tag: t.comment, class: "t-comment" },
    { tag: t.keyword, class: "t-keyword" },
    { tag: [t.typeName, t.atom], class: "t-type" },
    { tag: t.definition(t.name), class: "t-def" },
    { tag: [t.standard(t.name), t.namespace], class: "t-fun" },
    { tag: t.labelName, class: "t-block" },
    { tag: t.number, class: "t-number" },
    { tag: [t.string, t.character], class: "t-string" },
    { tag: [t.operator, t.meta], class: "t-op" },
  ]),
);
