// What is selected, marked in pictures: parts of a drawing tell which places of the source they come from.
import type { Link } from "./link";
import { contains } from "./spans";
import type { Span } from "./types";

const SOURCES = new WeakMap<Element, readonly Span[]>();
const PART = "from-source";
const LIT = "picture-lit";

/** The parts of a pane's pictures that come from what is selected, or under the mouse. */
export class Pictured {
  /** `origin`: of selections that are made in these pictures, in which nothing moves then. */
  constructor(
    private readonly link: Link,
    private readonly element: HTMLElement,
    private readonly origin: string,
  ) {
    link.on((_, chosen) => this.light(chosen));
  }

  /** A part that comes from these places. */
  part<T extends Element>(part: T, src: readonly Span[]): T {
    if (!src.length) return part;
    SOURCES.set(part, src);
    part.classList.add(PART);
    const place = this.link.shown?.spans[0];
    part.classList.toggle(LIT, place !== undefined && src.some((span) => contains(place, span)));
    return part;
  }

  /**
   * Mark them, and show the first if something was chosen elsewhere: those inside of the place, or else those
   * around it.
   */
  light(chosen = false): void {
    const { link, element, origin } = this;
    const place = link.shown?.spans[0];
    const parts = [...element.getElementsByClassName(PART)];
    const those = (isLit: (src: readonly Span[], place: Span) => boolean): Set<Element> =>
      new Set(place ? parts.filter((part) => isLit(SOURCES.get(part)!, place)) : []);
    const inside = those((src, at) => src.some((span) => contains(at, span)));
    const lit = inside.size ? inside : those((src, at) => contains(src[0]!, at));
    for (const part of parts) part.classList.toggle(LIT, lit.has(part));
    const [first] = lit;
    if (chosen && first && link.chosen?.origin !== origin) reveal(first);
  }
}

/** Scroll the pane to a part of it, where that is out of sight; the page itself stays where it is. */
function reveal(part: Element): void {
  const pane = part.closest(".panel");
  if (!pane || !part.checkVisibility()) return;
  const [at, around] = [part.getBoundingClientRect(), pane.getBoundingClientRect()];
  if (at.top < around.top || at.bottom > around.bottom) pane.scrollTop += at.top - around.top - around.height / 3;
}
