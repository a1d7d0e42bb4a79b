// A slider that moves a window over more rows or columns than are drawn at once.
import { h } from "../dom";
import { WINDOW } from "./grid";

export class WindowSlider {
  readonly element: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly seen = h("span", { class: "quiet" });

  constructor(
    private readonly name: string,
    public from: number,
    moved: (from: number) => void,
  ) {
    this.slider = h("input", {
      type: "range",
      min: 0,
      value: from,
      "aria-label": `First of the ${name} that are drawn`,
    });
    this.slider.addEventListener("input", () => {
      this.from = this.slider.valueAsNumber;
      moved(this.from);
    });
    this.element = h("p", { class: "rows-seen" }, this.slider, this.seen);
  }

  /** There are so many now; the slider hides where the window holds all. */
  of(count: number): void {
    const most = Math.max(0, count - WINDOW);
    this.from = Math.min(this.from, most);
    this.element.hidden = most === 0;
    this.slider.max = String(most);
    this.slider.value = String(this.from);
    this.seen.textContent = `${this.name} ${this.from + 1} to ${Math.min(count, this.from + WINDOW)} of ${count}`;
  }
}
