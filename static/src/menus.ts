// What drops down from a button of the top bar: closed by Escape, and by a click elsewhere.
import { h } from "./dom";

/** `draw`: before it is seen; `place`: once it can be measured. */
export function dropdown(
  title: string,
  content: HTMLElement,
  draw: () => void = () => {},
  label = title,
  place: () => void = () => {},
): HTMLDetailsElement {
  const summary = h("summary", label === title ? {} : { "aria-label": label }, title);
  const box = h("details", { class: "menu" }, summary, h("div", { class: "popover" }, content));
  let closing = new AbortController();
  // `toggle` comes some time after the box was opened. What is drawn only then takes the place of what the menu
  // offered before, perhaps while that is being clicked.
  let isDrawn = false;
  summary.addEventListener("click", () => {
    if (box.open) return;
    draw();
    isDrawn = true;
  });
  const closeOnEscape = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !box.open) return;
    if (box.contains(document.activeElement)) summary.focus();
    box.open = false;
  };
  // The event `toggle` comes some time after the box was opened; a key may come before it.
  box.addEventListener("keydown", closeOnEscape);
  box.addEventListener("toggle", () => {
    closing.abort();
    const wasDrawn = isDrawn;
    isDrawn = false;
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
    if (!wasDrawn) draw();
    place();
  });
  return box;
}
