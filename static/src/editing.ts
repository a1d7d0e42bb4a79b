// What every editor of a program has: keys, completion, types under the mouse, problems, the commands of the language.
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { differingLines } from "./abreast";
import { FLATPACK, isManifest } from "./files";
import type { Language } from "./language";
import { problemMarks } from "./problems";
import type { Span } from "./types";
import { shared } from "./view";
import { FLATPACK_FUNCTIONS, FLATPACK_KEYWORDS, FLATPACK_TYPES, FUNCTIONS, KEYWORDS, PRIMS } from "./words";
import { wrapping } from "./wrap";

/** Facts about a text where the compiler is not asked, or does not answer. */
export interface Text {
  /** Return the innermost typed expression at a place, and its type. */
  type(at: number): Promise<[Span, string] | null>;
  /** Names and texts of all files, whose words may be meant. */
  files(): [string, string][];
  /** The file that is shown. */
  name(): string;
}

/** Pixels below the cursor: there stands what is wrong with its line. */
const BELOW = 72;

export function editing(label: string, language: Language, text: Text): Extension {
  return [
    history(),
    bracketMatching(),
    closeBrackets(),
    indentUnit.of("  "),
    autocompletion({ override: [(context) => complete(context, language, text)], icons: false }),
    keymap.of([
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...historyKeymap,
      { key: "Ctrl-]", mac: "Cmd-]", run: indentMore },
      { key: "Ctrl-[", mac: "Cmd-[", run: indentLess },
      ...defaultKeymap,
    ]),
    shared,
    problemMarks,
    differingLines,
    language.types((at) => text.type(at)),
    language.extensions,
    wrapping,
    EditorView.scrollMargins.of(() => ({ bottom: BELOW })),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
  ];
}

/** Names in scope and their types, or, where nobody can be asked, words. */
async function complete(context: CompletionContext, language: Language, text: Text): Promise<CompletionResult | null> {
  if (context.state.readOnly || isManifest(text.name())) return null;
  const words = wordsOf(context, text);
  if (!words && !context.matchBefore(/[.#]$/)) return null;
  return (await language.complete(context)) ?? words;
}

const options = (functions: ReadonlySet<string>, keywords: ReadonlySet<string>, types: Iterable<string>) => [
  ...[...functions].map((label) => ({ label, type: "function" })),
  ...[...keywords].map((label) => ({ label, type: "keyword" })),
  ...[...types].map((label) => ({ label, type: "type" })),
];
const WORDS = options(FUNCTIONS, KEYWORDS, PRIMS);
const FLATPACK_WORDS = options(FLATPACK_FUNCTIONS, FLATPACK_KEYWORDS, [...FLATPACK_TYPES, ...PRIMS]);

/** Names of the prelude, keywords, and the words of this program. */
function wordsOf(context: CompletionContext, { files, name }: Text): CompletionResult | null {
  const word = context.matchBefore(/[A-Za-z_][\w']*/);
  if (!word || (word.text.length < 2 && !context.explicit)) return null;
  const words = name().endsWith(FLATPACK) ? FLATPACK_WORDS : WORDS;
  const known = new Set(words.map((option) => option.label));
  const text = files()
    .map(([, text]) => text)
    .join("\n")
    .slice(0, 100_000)
    .replace(/--.*$/gm, "");
  const own = new Set(text.match(/[A-Za-z_][\w']{2,}/g) ?? []);
  own.delete(word.text);
  const found = [...own].filter((label) => !known.has(label)).map((label) => ({ label, type: "text", boost: 1 }));
  return { from: word.from, options: [...found, ...words], validFor: /^[\w']*$/ };
}
