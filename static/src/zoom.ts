// A drawing that may be larger than its pane: all of it in sight, smaller, larger.
import { h } from "./dom";

const [LEAST, MOST, STEP] = [0.05, 4, 1.25];
/** The largest share of the window's height for a fitted drawing. */
const PART = 0.7;

/** The part of its own size at which a drawing is seen as a whole; none is made larger for that. */
export const fitting = (width: number, height: number, room: { width: number; height: number }): number =>
  Math.max(LEAST, Math.min(1, room.width / width, room.height / height));

/** Where a place has to be scrolled to, so that what is in its middle stays there. */
export const kept = (scrolled: number, seen: number, by: number): number =>
  Math.max(0, (scrolled + seen / 2) * by - seen / 2);

/** True if a drawing does not fit into its place as it is. */
export const isLarge = (width: number, height: number, place: HTMLElement): boolean =>
  width > place.clientWidth || height > PART * window.innerHeight;

export class Zoom {
  readonly tools: HTMLElement;
  private readonly said = h("output", { class: "quiet" });

  /** `place` scrolls a picture of so many pixels, which it has already. */
  constructor(
    private readonly place: HTMLElement,
    private readonly picture: SVGElement,
    private readonly width: number,
    private readonly height: number,
  ) {
    const button = (label: string, title: string, act: () => void): HTMLElement =>
      h("button", { title, onclick: act }, label);
    this.tools = h(
      "div",
      { class: "zoom", role: "group", "aria-label": "Size of the drawing" },
      button("Fit", "See all of the drawing (0)", () => this.fit()),
      button("Smaller", "With the key -, or Ctrl and the wheel", () => this.by(1 / STEP)),
      button("Larger", "With the key +, or Ctrl and the wheel", () => this.by(STEP)),
      this.said,
    );
    place.addEventListener("keydown", (event) => {
      const act = { "0": () => this.fit(), "-": () => this.by(1 / STEP), "+": () => this.by(STEP) }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    place.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.by(event.deltaY < 0 ? STEP : 1 / STEP);
      },
      { passive: false },
    );
  }

  private get scale(): number {
    return this.picture.getBoundingClientRect().width / this.width || 1;
  }

  private fit(): void {
    const room = { width: this.place.clientWidth, height: PART * window.innerHeight };
    this.show(fitting(this.width, this.height, room));
  }

  private by(factor: number): void {
    this.show(Math.min(MOST, Math.max(LEAST, this.scale * factor)));
  }

  private show(scale: number): void {
    const { place, picture } = this;
    const by = scale / this.scale;
    const to = [kept(place.scrollLeft, place.clientWidth, by), kept(place.scrollTop, place.clientHeight, by)] as const;
    picture.style.minWidth = picture.style.maxWidth = picture.style.width = `${this.width * scale}px`;
    place.scrollTo(...to);
    this.said.textContent = `${Math.round(100 * scale)} %`;
  }
}
