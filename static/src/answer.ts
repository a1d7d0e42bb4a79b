// The answer line: what the program costs, or the expression that is selected, worst first; each with the way to
// where it is told at length, and to what may help.
import * as client from "./client";
import { costsAt, distinct, saidOf, signOf, told, toneOf } from "./costs";
import { debounce, h, quoted, replace } from "./dom";
import { fateOf } from "./fate";
import type { Asked } from "./kept";
import type { Link } from "./link";
import { dropdown } from "./menus";
import { sameText, UNREACHED, type Model, type Text } from "./model";
import { Keyed, NumberField } from "./number_field";
import { inShort } from "./panes/foretold";
import type { Share } from "./panes/pane";
import { excerpt, hueAt, hueOf, placeName } from "./spans";
import type { CostsAnswer, SourceCost, Span, WayOut } from "./types";

export interface AnswerEvents {
  /** Show where a cost is told at length, and its place. */
  detail(cost: SourceCost): void;
  /** Tell an expression's way through the compiler. */
  way(): void;
  /** Switch these passes and rules on again. */
  enable(ids: readonly string[]): void;
  /** Insert what mends a cost into the source. */
  insert(way: WayOut): void;
  /** Other costs, or none, of the program are known. */
  told(costs: readonly SourceCost[]): void;
}

const NARROW = window.matchMedia("(max-width: 860px)"); // as in layout.css

/** As many are told in the line, where there is room. */
const MOST = 3;

interface Shown {
  of: Text;
  request: Asked<"costs">["request"];
  answer: CostsAnswer;
}

export class AnswerLine {
  private readonly subject = h("p", { class: "answer-subject" });
  private readonly items = h("ul", { class: "answer-items", "aria-label": "Costs, most expensive first" });
  private readonly why = h("p", { class: "answer-why", role: "group", "aria-label": "Why", tabindex: 0 });
  private readonly list = h("div", { class: "answer-list" });
  private readonly all = dropdown("all", this.list, () => this.drawAll());
  private readonly sizes = h("p", { class: "answer-sizes", role: "group", "aria-label": "Sizes" });
  readonly element = h(
    "section",
    { class: "answer", "aria-label": "In short" },
    h("div", { class: "answer-line" }, this.subject, this.items, this.all, this.sizes),
    this.why,
  );
  private readonly fields = new Keyed<NumberField>();
  private shown: Shown | null = null;
  /** The answer in the link that is shown. */
  private held: Shown | null = null;
  private asked: Text | null = null;

  constructor(
    private readonly model: Model,
    private readonly link: Link,
    private readonly events: AnswerEvents,
  ) {
    const soon = debounce(60, () => this.draw());
    // Behind what panes ask, which one waits for.
    const later = debounce(120, () => void this.ask());
    model.on("status", () => (model.isCompiling ? this.draw() : later()));
    model.on("trouble", () => !model.trouble && later());
    model.on("source", soon);
    model.on("problems", soon);
    model.on("frozen", () => this.show(model.frozen ? this.held : this.shown));
    const again = debounce(120, () => {
      this.asked = null;
      void this.ask();
    });
    model.sizes.on(again);
    link.on((_, chosen) => chosen && this.draw());
    new ResizeObserver(() => this.fit()).observe(this.element);
    this.draw();
  }

  readonly share: Share = {
    asked: () => {
      const { shown } = this;
      return shown && sameText(shown.of, this.model.now) ? [{ op: "costs", request: shown.request }] : [];
    },
    restore: (kept) => {
      const found = kept.find((one): one is Asked<"costs"> => one.op === "costs");
      this.held = found?.answer?.ok ? { of: this.model.now, request: found.request, answer: found.answer } : null;
      if (this.model.frozen) this.show(this.held);
    },
  };

  /** Ask for the answer about the program that was compiled last. */
  private async ask(): Promise<void> {
    const { model } = this;
    const { made: of, frozen } = model;
    if (frozen || !of || model.isCompiling || model.trouble || this.asked === of) return this.draw();
    this.asked = of;
    const request = { sizes: model.sizes.wanted };
    const answer = await client.ask("costs", request, of);
    if (this.asked !== of || model.frozen) return;
    if (answer.ok) this.show({ of, request, answer });
    else this.asked = null;
  }

  private show(shown: Shown | null): void {
    this.shown = shown;
    this.model.sizes.offer(Object.keys(shown?.answer.sizes ?? {}));
    this.events.told(shown?.answer.costs ?? []);
    this.draw();
  }

  // --- drawing -----------------------------------------------------------------------------------

  private get place(): Span | null {
    return this.link.chosen?.spans[0] ?? null;
  }

  private get costs(): readonly SourceCost[] {
    const all = this.shown?.answer.costs ?? [];
    return this.place ? costsAt(all, this.place) : all;
  }

  private draw(): void {
    const { place, model, shown } = this;
    const { costs } = this;
    replace(this.subject, ...this.about(place));
    const outdated = shown !== null && !sameText(shown.of, model.now);
    this.element.classList.toggle("outdated", outdated);
    const told = distinct(costs);
    const first = told.slice(0, MOST);
    replace(this.items, ...first.map((cost) => h("li", {}, this.item(cost, !place))));
    this.all.hidden = !shown || (told.length <= 1 && !shown.answer.unknown.length);
    this.all.querySelector("summary")!.textContent = told.length > 1 ? `all ${told.length}` : "all";
    replace(this.why, ...this.reason(first[0]));
    this.drawSizes();
    if (this.all.open) this.drawAll();
    this.fit();
  }

  /** Where the line stands in one row, what has no room in it is among all costs only. */
  private fit(): void {
    const items = [...this.items.children] as HTMLElement[];
    for (const item of items) item.hidden = false;
    if (NARROW.matches) return;
    const top = items[0]?.offsetTop ?? 0;
    for (const item of items) item.hidden = item.offsetTop > top + 4;
  }

  private about(place: Span | null): (Node | string)[] {
    if (!place) {
      const longest = [...(this.shown?.answer.foretold ?? [])].sort((a, b) => b.ms - a.ms)[0];
      return [h("strong", {}, "The program"), ...(longest ? [" ", inShort(longest)] : [])];
    }
    const text = excerpt(this.model.textAt(place), place, 40);
    return [h("strong", { class: `answer-place ${hueOf(hueAt(place))}` }, placeName(place)), " ", h("code", {}, text)];
  }

  private item(cost: SourceCost, placed: boolean): HTMLElement {
    const place = cost.src[0];
    return h(
      "button",
      {
        class: `link answer-item ${toneOf(cost)}`,
        title: told(cost).replaceAll("`", ""),
        "data-kind": cost.kind,
        onclick: () => this.events.detail(cost),
      },
      h("span", { class: "answer-sign", "aria-hidden": "true" }, signOf(cost)),
      " ",
      ...quoted(saidOf(cost)),
      placed && place ? h("span", { class: "quiet" }, ` ${placeName(place)}`) : null,
    );
  }

  /** Why the worst is paid, and what may help; or why nothing is told. */
  private reason(cost: SourceCost | undefined): (Node | string | null)[] {
    const { model, shown, place } = this;
    const { phase } = model.status;
    if (shown && !model.frozen && (phase === "failed" || phase === "empty"))
      return [h("strong", {}, "Out of date"), ": it belongs to an earlier version of the program."];
    if (cost) return [...quoted(cost.because), this.fix(cost)];
    if (!shown) {
      const without = model.frozen ? "This link has no costs: edit it to see them." : "";
      return [without || UNREACHED[model.status.phase] || (model.isCompiling ? "It is being computed." : "")];
    }
    if (!place) return [shown.answer.unknown[0] ?? NOTHING];
    const fate = fateOf(model.remarks, place);
    const way = h("button", { class: "link", onclick: () => this.events.way() }, "Its path through the compiler");
    return [fate?.text ?? "No cost is known here.", " ", way];
  }

  private fix({ fix }: SourceCost): HTMLElement | null {
    if (!fix) return null;
    const { enable, way_out: way } = fix;
    const frozen = this.model.frozen !== null;
    return h(
      "span",
      { class: "answer-fix" },
      " → ",
      ...quoted(fix.says),
      " ",
      enable && !frozen ? this.button("Switch it on", () => this.events.enable(enable)) : null,
      way && !frozen ? this.button("Insert it", () => this.events.insert(way)) : null,
    );
  }

  private button(words: string, act: () => void): HTMLElement {
    return h("button", { class: "link", onclick: act }, words);
  }

  private drawAll(): void {
    const { shown, place } = this;
    replace(
      this.list,
      h(
        "ol",
        { "aria-label": place ? "All costs of the selection" : "All costs" },
        ...distinct(this.costs).map((cost) =>
          h(
            "li",
            {},
            this.item(cost, true),
            h("p", { class: "quiet" }, ...quoted(cost.because), this.fix(cost)),
            cost.formula ? h("p", { class: "quiet" }, "as a formula: ", h("code", {}, cost.formula)) : null,
          ),
        ),
      ),
      ...(shown?.answer.unknown ?? []).map((words) => h("p", { class: "quiet" }, ...quoted(words))),
    );
  }

  private drawSizes(): void {
    const { shown, model } = this;
    const all = Object.entries(shown?.answer.sizes ?? {});
    const fields = this.fields.of(
      all,
      ([name]) => name,
      ([name, value]) => new NumberField(value, { "aria-label": `Size ${name}`, disabled: model.frozen !== null }),
    );
    const labels = all.map(([name, value], k) => {
      fields[k]!.take(model.sizes.get(name) ?? value, (typed) => model.sizes.choose(name, typed, this));
      fields[k]!.input.disabled = model.frozen !== null;
      return fields[k]!.input.parentElement ?? h("label", {}, h("code", {}, name), " ", fields[k]!.input);
    });
    this.sizes.hidden = !all.length;
    const [lead] = this.sizes.children;
    const head = lead ?? h("span", {}, "for");
    const there = [...this.sizes.children];
    const wanted = [head, ...labels];
    if (there.length !== wanted.length || there.some((one, k) => one !== wanted[k])) replace(this.sizes, ...wanted);
  }
}

const NOTHING = "No avoidable cost is known.";
