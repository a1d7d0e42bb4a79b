// What drops down from a button of the top bar: closed by Escape, and by a click elsewhere.
import { h } from "./dom";

export function dropdown(
  title: string,
  content: HTMLElement,
  opened: () => void = () => {},
  label = title,
): HTMLDetailsElement {
  const summary = h("summary", label === title ? {} : { "aria-label": label }, title);
  const box = h("details", { class: "menu" }, summary, h("div", { class: "popover" }, content));
  let closing = new AbortController();
  const closeOnEscape = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !box.open) return;
    if (box.contains(document.activeElement)) summary.focus();
    box.open = false;
  };
  // The event `toggle` comes some time after the box was opened; a key may come before it.
  box.addEventListener("keydown", closeOnEscape);
  box.addEventListener("toggle", () => {
    closing.abort();
    if (!box.open) return;
    closing = new AbortController();
    const { signal } = closing;
    document.addEventListener("keydown", closeOnEscape, { signal });
    document.addEventListener(
      "mousedown",
      (event) => {
        if (!event.composedPath().includes(box)) box.open = false;
      },
      { signal },
    );
    opened();
  });
  return box;
}
