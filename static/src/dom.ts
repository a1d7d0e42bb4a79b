// Making elements, without a framework.

type Child = Node | string | number | null | undefined | false;
type Props = Record<string, unknown>;

function fill(element: Element, props: Props, children: Child[]): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
}

export function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** The words of a `class`: the first one, and those whose condition holds. */
export const classes = (always: string, others: Record<string, boolean>): string =>
  [always, ...Object.keys(others).filter((name) => others[name])].join(" ");

/** An HTML element; `on...` properties that are functions become listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, props, children);
  return element;
}

/** An SVG element. */
export function s(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, props, children);
  return element;
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

export const SLICE = 12; // ms of work at a time, so that what one types comes between

/** Work through all of them: as many at once as there is time for, then the others while that is `wanted`. */
export function slices<T>(
  all: Iterable<T>,
  work: (one: T) => void,
  wanted: () => boolean,
  done: () => void = () => undefined,
): void {
  const left = all[Symbol.iterator]();
  const go = (): void => {
    const until = sliceEnd();
    for (let worked = 0; ; worked += 1) {
      if (!(worked % 8) && performance.now() > until) return void setTimeout(() => wanted() && go());
      const next = left.next();
      if (next.done) return done();
      work(next.value);
    }
  };
  go();
}

let ends = 0;

/** When who works in slices has to stop: all that run in one task share its time. */
function sliceEnd(): number {
  if (!ends) setTimeout(() => (ends = 0));
  return (ends ||= performance.now() + SLICE);
}

/** Append a node for each of these, in slices. Ends early where the element is gone. */
export function fillSlowly<E extends Element, T>(element: E, all: Iterable<T>, make: (one: T, at: number) => Node): E {
  let at = 0;
  slices(
    all,
    (one) => element.append(make(one, at++)),
    () => element.isConnected,
  );
  return element;
}

/** As `replace`; children that stay are not touched, so that they keep the focus and what is selected in them. */
export function arrange(element: Element, ...children: Element[]): void {
  const stay = new Set<Node>(children);
  for (const child of [...element.childNodes]) if (!stay.has(child)) child.remove();
  for (const [k, child] of children.entries())
    if (element.children[k] !== child) element.insertBefore(child, element.children[k] ?? null);
}

/** Text with its `quoted` parts as code. */
export function quoted(text: string): (Node | string)[] {
  return text
    .split(/(`[^`]+`)/)
    .filter(Boolean)
    .map((part) => (part.startsWith("`") && part.length > 2 ? h("code", {}, part.slice(1, -1)) : part));
}

/** Call `fn` once things have been quiet for `ms`. */
export function debounce(ms: number, fn: () => void): () => void {
  let timer = 0;
  return () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(fn, ms);
  };
}

/** Call `fn` when an element that is seen has become wider or narrower; its width, which is not measured each time. */
export function onWidth(element: HTMLElement, fn: () => void): () => number {
  let width = 0;
  const soon = debounce(80, fn);
  new ResizeObserver(() => {
    const now = element.clientWidth;
    if (now && width && Math.abs(now - width) > 8) soon();
    if (now) width = now;
  }).observe(element);
  return () => width || element.clientWidth;
}

/** Say something to screen readers, without moving the focus. */
export function announce(text: string): void {
  const region = document.getElementById("announcer");
  if (region) region.textContent = text;
}

/** 4,096 for readers, and 4096 for programs that read a table. */
export const grouped = (count: number): HTMLElement => h("data", { value: count }, count.toLocaleString("en"));

/** 0.4 µs, 12 µs, 3.2 ms, 84 ms, 1.24 s. */
export function milliseconds(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toPrecision(3)} s`;
  if (ms >= 100) return `${Math.round(ms)} ms`;
  if (ms >= 0.1) return `${Number(ms.toPrecision(2))} ms`;
  return ms > 0 ? `${Number((1000 * ms).toPrecision(2))} µs` : "0 ms";
}

/** 512 B, 38.1 MB: decimal units. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) {
    count /= 1000;
    unit += 1;
  }
  return `${unit ? count.toPrecision(3) : count} ${units[unit]}`;
}

/** Return the zoom factor of an element, which the lecture theme sets. */
export const zoomOf = (element: Element): number =>
  (element as Element & { currentCSSZoom?: number }).currentCSSZoom ?? 1;

/** True if a letter that is pressed is a letter of some text. */
export const isTyping = (target: HTMLElement): boolean =>
  target.matches("input, textarea, select") || (target.isContentEditable && target.ariaReadOnly !== "true");

/** Lines are measured once: with the right face, if it comes soon. */
export async function faces(): Promise<void> {
  const loads = ["400", "600"].map((style) => document.fonts.load(`${style} 13px "IBM Plex Mono"`));
  const late = new Promise((resolve) => setTimeout(resolve, 600));
  await Promise.race([Promise.allSettled(loads), late]);
}
