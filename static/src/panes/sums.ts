// How values of sum types lie: constructors against the slots that they share.
import * as client from "../client";
import { h, replace } from "../dom";
import { Fresh } from "../fresh";
import type { AnyAsked } from "../kept";
import type { Link } from "../link";
import { sameText, type Model, type Text } from "../model";
import type { Constructor, SumInfo, SumsAnswer } from "../types";

export class Sums {
  readonly element = h("div", { class: "sums" });
  readonly fresh: Fresh;
  private seenOf: Text | null = null;
  private held: SumsAnswer | null = null;

  constructor(
    private readonly model: Model,
    private readonly link: Link,
  ) {
    this.fresh = new Fresh(model, this.element);
  }

  /** Return the questions for a link, if they are about the current program. */
  asked(): Pick<AnyAsked, "op" | "request">[] {
    return this.seenOf && sameText(this.seenOf, this.model.now) ? [{ op: "sums", request: {} }] : [];
  }

  /** Show what a link keeps, or nothing of one. */
  restore(kept: readonly AnyAsked[]): void {
    const found = kept.find((one) => one.op === "sums");
    this.held = found?.answer?.ok ? found.answer : null;
    this.seenOf = null;
  }

  /** True if the link that is shown holds them. */
  get kept(): boolean {
    return this.model.frozen !== null && this.held !== null;
  }

  async show(of: Text): Promise<void> {
    const answer = await this.fresh.answer(of, this.kept ? Promise.resolve(this.held!) : client.ask("sums", {}, of));
    if (!answer) return;
    this.seenOf = answer.sums.length ? of : null;
    replace(
      this.element,
      ...(answer.sums.length
        ? answer.sums.map((sum) => this.sum(sum))
        : [h("p", { class: "empty" }, "This program has no values of a sum type.")]),
    );
  }

  private sum({ type, slots, constructors, bytes, apart }: SumInfo): HTMLElement {
    const saved =
      bytes !== undefined && apart !== undefined
        ? ` ${bytes} bytes a value${apart > bytes ? `; ${apart} without slots that constructors share` : ""}.`
        : "";
    return h(
      "section",
      {},
      h("h2", {}, h("code", {}, type)),
      h(
        "p",
        { class: "quiet" },
        "A constructor's tag and the slots that store its values; other slots hold zeros. An array of " +
          "such values is an array of tags and one array for each slot.",
        saved,
      ),
      h(
        "div",
        { class: "table-scroll", tabindex: 0, role: "region", "aria-label": `Slots of ${type}` },
        h(
          "table",
          { class: "cells-table sum-table" },
          h("caption", { class: "visually-hidden" }, `Constructors and slots of ${type}`),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "constructor"),
              h("th", { scope: "col" }, "tag: ", h("code", {}, "i8")),
              ...slots.map((slot, k) => h("th", { scope: "col" }, `slot ${k}: `, h("code", {}, slot))),
            ),
          ),
          h("tbody", {}, ...constructors.map((one) => this.row(one))),
        ),
      ),
    );
  }

  private row({ name, tag, holds, src }: Constructor): HTMLElement {
    const where = { spans: src, origin: "memory", line: -1 };
    const chosen = src.length
      ? h("button", { class: "link", onclick: () => this.link.choose(where) }, h("code", {}, name))
      : h("code", {}, name);
    return h(
      "tr",
      { onmouseenter: () => src.length && this.link.hover(where), onmouseleave: () => this.link.hover(null) },
      h("th", { scope: "row" }, chosen),
      h("td", {}, tag),
      ...holds.map((held) => h("td", { class: held ? "held" : "" }, held)),
    );
  }
}
