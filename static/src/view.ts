// What all CodeMirror views share: theme by our own classes, search, the nonce for their styles.
import { search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap } from "@codemirror/view";
import { highlighting } from "./lang";
import { litLines } from "./lit";

const nonce = document.getElementById("app")?.dataset.nonce ?? "";

export const shared: Extension = [
  EditorView.cspNonce.of(nonce),
  EditorView.theme({}),
  EditorView.contentAttributes.of({ tabindex: "0" }),
  highlightSpecialChars(),
  drawSelection(),
  search({ top: true }),
  keymap.of(searchKeymap),
  highlighting,
  litLines,
];

/** A view that is read: it has a cursor for the keyboard, and no on-screen keyboard. */
export const readOnly: Extension = [
  EditorState.readOnly.of(true),
  EditorView.contentAttributes.of({ inputmode: "none", "aria-readonly": "true" }),
];
