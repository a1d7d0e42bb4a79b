// A bar between panes that can be dragged, or moved by the arrow keys.
import { h } from "./dom";
import { load, save } from "./storage";

export interface SplitterOptions {
  label: string;
  /** The name of the custom property that it sets on `target`, in pixels. */
  property: string;
  target: HTMLElement;
  vertical: boolean;
  least: number;
  most: () => number;
  /** The size now. */
  size: () => number;
  /** Whether the pane that it sizes lies before it. */
  before: boolean;
}

export function splitter(options: SplitterOptions): HTMLElement {
  const { property, target, vertical, least, before } = options;
  const bar = h("div", {
    class: `splitter ${vertical ? "vertical" : "horizontal"}`, role: "separator", tabindex: 0,
    "aria-orientation": vertical ? "vertical" : "horizontal", "aria-label": options.label,
    "aria-valuemin": least, "aria-valuemax": 4000, "aria-valuenow": 0,
  });
  const set = (size: number, keep = true): void => {
    const px = Math.round(Math.min(options.most(), Math.max(least, size)));
    target.style.setProperty(property, `${px}px`);
    bar.setAttribute("aria-valuenow", String(px));
    if (keep) save(`size.${property}`, px);
  };
  const kept = load<number>(`size.${property}`);
  if (kept !== null) requestAnimationFrame(() => set(kept, false));
  else requestAnimationFrame(() => bar.setAttribute("aria-valuenow", String(Math.round(options.size()))));

  bar.addEventListener("pointerdown", (down) => {
    bar.setPointerCapture(down.pointerId);
    const from = vertical ? down.clientX : down.clientY;
    const size = options.size();
    const move = (event: PointerEvent): void => {
      const by = (vertical ? event.clientX : event.clientY) - from;
      set(size + (before ? by : -by));
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", () => bar.removeEventListener("pointermove", move), { once: true });
    down.preventDefault();
  });
  bar.addEventListener("keydown", (event) => {
    const keys = vertical ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const at = keys.indexOf(event.key);
    if (at < 0) return;
    const by = (at === 1 ? 1 : -1) * (event.shiftKey ? 64 : 16);
    set(options.size() + (before ? by : -by));
    event.preventDefault();
  });
  return bar;
}
