// What a proof may use: every fact with its number, whether it is used, and where it comes from.
import { h, quoted } from "../dom";
import type { Link, Selection } from "../link";
import { placeName } from "../spans";
import type { Proved } from "../kept";
import type { Need, Origin, Polynomial, Step } from "../types";
import { inequality } from "./words";

interface Fact {
  claim: Polynomial;
  origin: Origin | undefined;
  used: boolean;
}

export class FactBook {
  private readonly facts: Fact[];
  private readonly rows = new Map<Fact, HTMLElement>();

  constructor(
    proved: Proved,
    private readonly link: Link | null,
  ) {
    const used = new Set<string>();
    const walk = (step: Step): void => {
      for (const need of step.needs)
        for (const { factors } of need.sum) for (const factor of factors) used.add(JSON.stringify(factor));
      step.parts.forEach(walk);
    };
    proved.steps.forEach(walk);
    const all = proved.facts.map(
      (claim, k): Fact => ({ claim, origin: proved.origins?.[k], used: used.has(JSON.stringify(claim)) }),
    );
    const each = [...new Map(all.map((fact) => [JSON.stringify(fact.claim), fact])).values()];
    this.facts = [...each.filter((fact) => fact.used), ...each.filter((fact) => !fact.used)];
  }

  /** Buttons with the numbers of the facts that an inequality is made of. */
  references(need: Need): HTMLElement[] {
    const factors = new Set(need.sum.flatMap(({ factors: some }) => some.map((factor) => JSON.stringify(factor))));
    return [...factors].flatMap((factor) => {
      const at = this.facts.findIndex((fact) => JSON.stringify(fact.claim) === factor);
      const fact = this.facts[at];
      if (!fact) return [];
      const why = fact.origin ? `, ${fact.origin.why.replaceAll("`", "")}` : "";
      const says = `fact ${at + 1}: ${inequality(fact.claim)}${why}`;
      return [
        h(
          "button",
          {
            class: "fact-reference",
            title: says,
            "aria-label": says,
            onclick: () => this.go(fact),
            onmouseenter: () => this.point(fact, true),
            onmouseleave: () => this.point(fact, false),
            onfocus: () => this.point(fact, true),
            onblur: () => this.point(fact, false),
          },
          at + 1,
        ),
      ];
    });
  }

  /** The list, or null where nothing is assumed. */
  element(proves: boolean): HTMLElement | null {
    if (!this.facts.length) return null;
    const count = this.facts.filter((fact) => fact.used).length;
    return h(
      "details",
      { class: "facts-used", open: this.facts.length <= 12 },
      h(
        "summary",
        {},
        h("strong", {}, "Facts "),
        proves ? `${count} of ${this.facts.length} used` : `${this.facts.length} known here`,
      ),
      h("ol", {}, ...this.facts.map((fact, k) => this.row(fact, k))),
    );
  }

  private row(fact: Fact, k: number): HTMLElement {
    const { origin } = fact;
    const place = origin?.src[0];
    const row = h(
      "li",
      { class: fact.used ? "used" : "", tabindex: -1 },
      h("span", { class: "fact-number" }, k + 1),
      h(
        "div",
        {},
        h("code", {}, inequality(fact.claim)),
        fact.used ? h("span", { class: "fact-mark" }, " used") : null,
        origin
          ? h("p", { class: "quiet" }, ...quoted(origin.why), ...(place && this.link ? [", ", this.placed(fact)] : []))
          : null,
      ),
    );
    this.rows.set(fact, row);
    return row;
  }

  private placed(fact: Fact): HTMLElement {
    const where = this.where(fact)!;
    return h(
      "button",
      {
        class: "link",
        onclick: () => this.link?.choose(where),
        onmouseenter: () => this.link?.hover(where),
        onmouseleave: () => this.link?.hover(null),
      },
      placeName(where.spans[0]!),
    );
  }

  private where(fact: Fact): Selection | null {
    const spans = fact.origin?.src ?? [];
    return spans.length ? { spans, origin: "proof", line: -1 } : null;
  }

  private point(fact: Fact, on: boolean): void {
    this.rows.get(fact)?.classList.toggle("pointed", on);
    this.link?.hover(on ? this.where(fact) : null);
  }

  /** To the fact in the list, and to its place in the source. */
  private go(fact: Fact): void {
    const row = this.rows.get(fact);
    const list = row?.closest("details");
    if (list) list.open = true;
    row?.scrollIntoView({ block: "nearest" });
    row?.focus({ preventScroll: true });
    const where = this.where(fact);
    if (where) this.link?.choose(where);
  }
}
