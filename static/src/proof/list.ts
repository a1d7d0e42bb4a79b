// The list of attempts: filtered by how they ended, each with its place.
import { arrange, h, quoted, replace } from "../dom";
import type { Link } from "../link";
import { placeName } from "../spans";
import type { Attempt } from "../kept";
import type { Span } from "../types";
import { about, called, isGuard, KINDS, kindOf, pointOf, sourcesOf, type Kind } from "./attempts";

type Filter = Kind | "all" | "here";

export class AttemptList {
  readonly element: HTMLElement;
  private readonly filters = h("div", {
    class: "filters attempt-filters",
    role: "group",
    "aria-label": "Which attempts",
  });
  private readonly list = h("ul", { class: "attempts", "aria-label": "Attempts" });
  private readonly said = h("p", { class: "quiet", role: "status" });
  private attempts: readonly Attempt[] = [];
  private rows = new Map<Attempt, { row: HTMLElement; button: HTMLElement }>();
  private pressed: Attempt | null = null;
  private place: Span | null = null;
  private filter: Filter = "all";

  constructor(
    private readonly link: Link,
    private readonly choose: (attempt: Attempt) => void,
  ) {
    this.element = h("div", { class: "attempt-list" }, this.filters, this.list, this.said);
  }

  show(attempts: readonly Attempt[]): void {
    const source = sourcesOf(attempts);
    this.attempts = attempts;
    this.rows = new Map(attempts.map((attempt, number) => [attempt, this.item(attempt, number, source(attempt))]));
    this.filter = "all";
    this.place = this.link.chosen?.spans[0] ?? null;
    this.draw();
  }

  /** The place that is chosen elsewhere. */
  mark(place: Span | null): void {
    this.place = place;
    if (!place && this.filter === "here") this.filter = "all";
    this.draw();
  }

  press(attempt: Attempt): void {
    if (this.pressed) this.rows.get(this.pressed)?.button.setAttribute("aria-pressed", "false");
    this.pressed = attempt;
    const found = this.rows.get(attempt);
    found?.button.setAttribute("aria-pressed", "true");
    if (!this.seen().includes(attempt)) {
      this.filter = "all";
      this.draw();
    }
    if (found) requestAnimationFrame(() => this.reveal(found.row));
  }

  private reveal(row: HTMLElement): void {
    const top = row.offsetTop - this.list.offsetTop;
    const bottom = top + row.offsetHeight;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (bottom > this.list.scrollTop + this.list.clientHeight)
      this.list.scrollTop = bottom - this.list.clientHeight;
  }

  private among(filter: Filter): readonly Attempt[] {
    const { attempts, place } = this;
    if (filter === "all") return attempts;
    if (filter === "here") return place ? about(attempts, place) : [];
    return attempts.filter((attempt) => kindOf(attempt) === filter);
  }

  private seen(): readonly Attempt[] {
    return this.among(this.filter);
  }

  private draw(): void {
    const at = this.element.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
    const kinds = (Object.keys(KINDS) as Kind[]).filter((kind) => this.among(kind).length);
    const here = this.among("here").length;
    replace(
      this.filters,
      ...(kinds.length > 1
        ? [
            this.toggle("all", "all"),
            ...kinds.map((kind) => this.toggle(kind, `${KINDS[kind].sign} ${KINDS[kind].words}`)),
          ]
        : [
            h(
              "p",
              { class: "quiet" },
              `${this.attempts.length === 1 ? "One attempt" : `${this.attempts.length} attempts`}: ` +
                `${this.attempts.length === 1 ? "" : "all "}${kinds.map((kind) => KINDS[kind].words).join()}`,
            ),
          ]),
      here && here < this.attempts.length ? this.toggle("here", "at the selection") : null,
    );
    arrange(this.list, ...this.seen().map((attempt) => this.rows.get(attempt)!.row));
    this.said.textContent =
      this.place && !here ? `Nothing at ${placeName(this.place)} is copied into a larger array.` : "";
    if (at) this.element.querySelector<HTMLElement>(`[data-key="${at}"]`)?.focus();
  }

  private toggle(filter: Filter, name: string): HTMLElement {
    return h(
      "button",
      {
        class: "filter",
        "aria-pressed": String(this.filter === filter),
        "data-key": `filter-${filter}`,
        onclick: () => {
          this.filter = filter;
          this.draw();
        },
      },
      `${name} `,
      h("span", { class: "quiet" }, this.among(filter).length),
    );
  }

  private item(attempt: Attempt, number: number, source: string): { row: HTMLElement; button: HTMLElement } {
    const place = attempt.src[0];
    const kind = KINDS[kindOf(attempt)];
    const where = { spans: attempt.src, origin: "proof", line: -1 };
    const name = [h("code", {}, source), " into ", h("code", {}, called(attempt, attempt.destination))];
    const button = h(
      "button",
      {
        class: `attempt ${kind.tone}`,
        "aria-pressed": "false",
        "data-key": `attempt-${number}`,
        onclick: () => this.choose(attempt),
        onmouseenter: () => place && this.link.hover(where),
        onmouseleave: () => this.link.hover(null),
      },
      h("span", { class: "attempt-sign", "aria-hidden": "true" }, kind.sign),
      h(
        "span",
        { class: "attempt-text" },
        ...(isGuard(attempt) ? quoted(attempt.because.replace(/:.*$/, "").replace(/\.$/, "")) : name),
        h(
          "span",
          { class: "quiet" },
          ` ${[isGuard(attempt) ? "" : pointOf(attempt), place ? placeName(place) : ""].filter(Boolean).join(", ")}`,
        ),
        h("span", { class: "visually-hidden" }, `, ${kind.words}`),
      ),
    );
    return { row: h("li", {}, button), button };
  }
}
