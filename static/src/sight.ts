// Large drawings, of which what is in sight is made, and a little around it.
import { s } from "./dom";

/** A part of a drawing, and the box that it takes, in the drawing's own units. */
export interface Part {
  left: number;
  right: number;
  top: number;
  bottom: number;
  make(): SVGElement;
}

const FEW = 500; // parts that are made at once
const AROUND = 400; // pixels beyond what is seen
const STEPS = Array.from({ length: 101 }, (_, k) => k / 100);

const unseen = new WeakMap<Element, () => void>();

/** Put parts into a drawing of this width, later layers over earlier ones. */
export function inSight(drawing: SVGElement, width: number, layers: readonly (readonly Part[])[]): SVGElement {
  const all = layers.flat();
  if (all.length <= FEW) {
    drawing.append(...all.map((part) => part.make()));
    return drawing;
  }
  const groups = layers.map(() => s("g"));
  const made = new Map<Part, SVGElement>();
  drawing.append(...groups);
  const draw = (left: number, right: number, top: number, bottom: number): void => {
    for (const [k, layer] of layers.entries()) {
      for (const part of layer) {
        const isSeen = part.right >= left && part.left <= right && part.bottom >= top && part.top <= bottom;
        const before = made.get(part);
        if (isSeen === Boolean(before)) continue;
        if (before) {
          before.remove();
          made.delete(part);
        } else {
          const element = part.make();
          groups[k]!.append(element);
          made.set(part, element);
        }
      }
    }
  };
  unseen.set(drawing, () => draw(-Infinity, Infinity, -Infinity, Infinity));
  const stop = new AbortController();
  // Tells what is in sight without a layout of its own; after scrolling it is asked again.
  const observer = new IntersectionObserver(
    (entries) => {
      if (!drawing.isConnected) {
        observer.disconnect();
        return stop.abort();
      }
      const { boundingClientRect: box, intersectionRect: seen } = entries.at(-1)!;
      if (!seen.width || !seen.height) return;
      const scale = width / box.width;
      draw(
        (seen.left - box.left - AROUND) * scale,
        (seen.right - box.left + AROUND) * scale,
        (seen.top - box.top - AROUND) * scale,
        (seen.bottom - box.top + AROUND) * scale,
      );
    },
    { threshold: STEPS },
  );
  observer.observe(drawing);
  document.addEventListener(
    "scroll",
    ({ target }) => {
      if (!(target as Node).contains(drawing)) return;
      observer.unobserve(drawing);
      observer.observe(drawing);
    },
    { capture: true, passive: true, signal: stop.signal },
  );
  return drawing;
}

/** Make what is not in sight of the drawings in an element as well, until it is scrolled. */
export function makeWhole(element: Element): void {
  for (const drawing of [element, ...element.querySelectorAll("svg")]) unseen.get(drawing)?.();
}
