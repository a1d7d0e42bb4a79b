// What all CodeMirror views share: theme by our own classes, search, the nonce for their styles.
import { search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension, type Transaction } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap } from "@codemirror/view";
import { highlighting } from "./lang";
import { litLines } from "./lit";

const nonce = document.getElementById("app")?.dataset.nonce ?? "";

/**
 * Text that replaces a selection comes into the document here, not by way of the browser: chromium would keep the look
 * of what was there by a style attribute, which the page's policy forbids, and the console says so.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    const text = event.data;
    if (event.inputType !== "insertText" || event.isComposing || empty || !text || view.state.readOnly) return false;
    event.preventDefault();
    const insert = (): Transaction =>
      view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handler) => handler(view, from, to, text, insert))) view.dispatch(insert());
    return true;
  },
});

export const shared: Extension = [
  typedOver,
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
