// What an attempt saves, or what its failure costs: a copy and an allocation, in bytes.
import { bytes, h, replace } from "../dom";
import { evaluate, namesIn, numberOf, pretty } from "../polynomial";
import { SymbolFields } from "../memory/symbols";
import type { Attempt } from "../kept";
import type { Polynomial } from "../types";

const FIRST = 10;

export class Savings {
  readonly element = h("div", { class: "savings" });
  private readonly said = h("dl", { class: "facts" });
  private readonly fields = new SymbolFields();
  private own: Record<string, number> = {};
  private given: Readonly<Record<string, number>> = {};

  constructor(
    private readonly attempt: Attempt,
    pictured: boolean,
  ) {
    this.element.append(this.said, this.fields.element);
    if (!pictured) this.ask();
    this.draw();
  }

  /** The values that the picture has: what it has none for is asked for here. */
  follow(values: Readonly<Record<string, number>>): void {
    this.given = values;
    this.ask();
    this.draw();
  }

  private amounts(): [string, Polynomial[]][] {
    const { copied, allocated } = this.attempt;
    const all: [string, Polynomial[]][] =
      JSON.stringify(copied) === JSON.stringify(allocated)
        ? [["to copy and to allocate", copied]]
        : [
            ["to copy", copied],
            ["to allocate", allocated],
          ];
    return all.filter(([, sizes]) => sizes.length);
  }

  private ask(): void {
    const names = [...new Set(namesIn(this.amounts().map(([, sizes]) => sizes)))].filter(
      (name) => this.given[name] === undefined,
    );
    this.fields.show(
      names.map((name) => ({ name, label: name, value: (this.own[name] ??= FIRST) })),
      (name, value) => {
        this.own[name] = value;
        this.draw();
      },
    );
  }

  private draw(): void {
    const { done } = this.attempt;
    replace(
      this.said,
      ...this.amounts().map(([what, sizes]) => {
        const [size] = sizes.length === 1 ? sizes : [];
        const amount = size ? evaluate(size, { ...this.own, ...this.given }) : null;
        const formula = sizes.map((one) => `${pretty(one)} B`).join(" or ");
        return h(
          "div",
          {},
          h("dt", {}, done ? `less ${what}` : what),
          h(
            "dd",
            {},
            amount === null ? formula : bytes(Math.max(0, amount)),
            amount === null || (size && numberOf(size) !== null) ? null : h("code", {}, ` ${formula}`),
          ),
        );
      }),
    );
  }
}
