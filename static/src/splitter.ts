// A bar between panes that can be dragged, or moved by the arrow keys.
import { h, zoomOf } from "./dom";

export interface SplitterOptions {
  label: string;
  vertical: boolean;
  least: number;
  most: () => number;
  /** The size now, in pixels. */
  size: () => number;
  set(px: number): void;
  /** True if the pane that it sizes lies before it. */
  before: boolean;
}

export function splitter(options: SplitterOptions): HTMLElement {
  const { vertical, least, before } = options;
  const bar = h("div", {
    class: `splitter ${vertical ? "vertical" : "horizontal"}`,
    role: "separator",
    tabindex: 0,
    "aria-orientation": vertical ? "vertical" : "horizontal",
    "aria-label": options.label,
    "aria-valuemin": least,
    "aria-valuemax": 4000,
    "aria-valuenow": 0,
  });
  const set = (size: number): void => {
    const px = Math.round(Math.min(options.most(), Math.max(least, size)));
    bar.setAttribute("aria-valuenow", String(px));
    options.set(px);
  };
  requestAnimationFrame(() => bar.isConnected && bar.setAttribute("aria-valuenow", String(Math.round(options.size()))));

  bar.addEventListener("pointerdown", (down) => {
    bar.setPointerCapture(down.pointerId);
    const from = vertical ? down.clientX : down.clientY;
    const size = options.size();
    const move = (event: PointerEvent): void => {
      const by = ((vertical ? event.clientX : event.clientY) - from) / zoomOf(bar);
      set(size + (before ? by : -by));
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", () => bar.removeEventListener("pointermove", move), { once: true });
    down.preventDefault();
  });
  bar.addEventListener("keydown", (event) => {
    const keys = vertical ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const at = keys.indexOf(event.key);
    if (at < 0 || event.altKey || event.ctrlKey) return;
    const by = (at === 1 ? 1 : -1) * (event.shiftKey ? 64 : 16);
    set(options.size() + (before ? by : -by));
    event.preventDefault();
  });
  return bar;
}
