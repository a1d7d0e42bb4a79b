// What drops down from a button of the top bar: closed by Escape, and by a click elsewhere.
import { h } from "./dom";

/** One whose box is not cut by the pane that it is in, and that is closed by a choice. */
export function paneMenu(
  title: string,
  content: HTMLElement,
  says = "",
  opened: () => void = () => {},
): HTMLDetailsElement {
  const menu = dropdown(title, content, opened, title, () => {
    const [box, at] = [menu.querySelector<HTMLElement>(".popover")!, menu.getBoundingClientRect()];
    box.style.top = `${Math.max(8, Math.min(at.bottom + 6, window.innerHeight - box.offsetHeight - 8))}px`;
    box.style.left = `${Math.max(8, at.right - box.offsetWidth)}px`;
  });
  menu.classList.add("pane-menu", "at-hand");
  if (says) menu.title = says;
  return menu;
}

/** A list of stages, which looks like the title of the pane until the pointer, or the focus, is in the pane. */
export function stageName(select: HTMLSelectElement, title = ""): HTMLElement {
  return h("span", { class: "stage-name" }, h("strong", { "aria-hidden": "true" }, title), select);
}

/** A list of what a pane's menu offers, which closes it. */
export function choices(...offered: (HTMLElement | null)[]): HTMLElement {
  const list = h("div", { class: "choices" });
  for (const one of offered) if (one) list.append(one);
  list.addEventListener("click", (event) => {
    const button = (event.target as Element).closest("button");
    if (button?.parentElement === list) list.closest("details")!.open = false;
  });
  return list;
}

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
