// Values for the sizes and indices that a picture needs: first guesses, and fields to change them.
import { sized } from "../arithmetic";
import { arrange, h } from "../dom";
import { Keyed, NumberField } from "../number_field";
import { evaluate, namesIn, plainNames } from "../polynomial";
import type { Sizes } from "../sizes";
import type { ArrayInfo, MemoryFunction, Polynomial } from "../types";

type Called = Readonly<Record<string, string>>;

const SIZES = [4, 6, 3, 5, 2];

/**
 * The sizes of the page for the names of a stage, by what the program's author calls them: names of stages are
 * others after an edit, and at other stages.
 */
export class ChosenValues {
  private supposed: Readonly<Record<string, number>> = {};

  constructor(private readonly sizes: Sizes) {}

  /** Set the values of names until the user chooses. */
  suppose(values: Readonly<Record<string, number>>): void {
    this.supposed = sized(values);
  }

  /** Choose a value for one of these names. */
  set(names: readonly string[], called: Called, name: string, value: number): void {
    this.sizes.choose(plainNames(names, called)(name), value, this);
  }

  /** The values for those of the names that have one. */
  of(names: readonly string[], called: Called): Record<string, number> {
    const plain = plainNames(names, called);
    const found = names.map((name) => [name, this.sizes.get(plain(name)) ?? this.supposed[plain(name)]] as const);
    return Object.fromEntries(found.filter((pair): pair is [string, number] => pair[1] !== undefined));
  }
}

/** A guess for every name: small sizes that differ, and 1 for what only moves the picture. */
export function proposed(array: ArrayInfo, fun: MemoryFunction): Record<string, number> {
  const values: Record<string, number> = {};
  let sizes = 0;
  for (const name of namesIn(fun.arrays.map((other) => other.shape))) values[name] ??= SIZES[sizes++ % SIZES.length]!;
  const used = [...array.symbols, ...fun.arrays.flatMap((other) => other.symbols)];
  for (const name of [...used, ...namesIn(fun.kernels.map((kernel) => kernel.space))]) values[name] ??= 1;
  return positive(values, sizesOf(array, fun));
}

/** Sizes of an array and bounds of kernels. */
function sizesOf(array: ArrayInfo, fun: MemoryFunction): Polynomial[] {
  return [...array.shape, ...fun.kernels.flatMap((kernel) => kernel.space.map(({ bound }) => bound))];
}

/** True if no size of the array is negative for these values. */
export const possible = (values: Record<string, number>, array: ArrayInfo): boolean =>
  array.shape.every((size) => (evaluate(size, values) ?? 0) >= 0);

/** The values, changed until no size is less than 1, if that can be had in a few steps. */
function positive(values: Record<string, number>, sizes: readonly Polynomial[]): Record<string, number> {
  for (let round = 0; round < 8; round += 1) {
    const small = sizes.filter((size) => (evaluate(size, values) ?? 1) < 1);
    for (const size of small) {
      for (const name of namesIn(size.filter((term) => (term[0] as number) < 0)))
        values[name] = Math.max(1, Math.floor((values[name] ?? 1) / 2));
      for (const name of namesIn(size.filter((term) => (term[0] as number) > 0)))
        values[name] = Math.min(12, (values[name] ?? 1) + 1);
    }
    if (!small.length) break;
  }
  return values;
}

/** A name with its value, and with what it is called where that is asked for. */
export interface Valued {
  name: string;
  label: string;
  value: number;
}

/**
 * A slider and a number for each of some names. Fields stay as long as there is a name of their label: answers
 * that come while somebody types do not take the field away.
 */
export class SymbolFields {
  readonly element = h("div", { class: "symbols" });
  private readonly fields = new Keyed<Field>();

  constructor(private readonly least = 0) {}

  /** Show these; `change` is called with the name that a field stands for when it is typed into. */
  show(wanted: readonly Valued[], change: (name: string, value: number) => void): void {
    const fields = this.fields.of(
      wanted,
      ({ label }) => label,
      ({ label, value }) => new Field(label, value, this.least),
    );
    for (const [k, { name, value }] of wanted.entries()) fields[k]!.take(value, (typed) => change(name, typed));
    arrange(this.element, ...fields.map(({ element }) => element));
  }
}

class Field {
  readonly element: HTMLElement;
  private readonly number: NumberField;
  private readonly slider: HTMLInputElement;
  private change: (value: number) => void = () => undefined;

  constructor(label: string, value: number, least: number) {
    this.number = new NumberField(value, { min: least, "aria-label": label });
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: Math.max(24, 2 * value),
      value,
      "aria-label": `${label}, slider`,
      tabindex: -1,
    });
    this.slider.addEventListener("input", () => {
      this.number.input.value = this.slider.value;
      this.change(this.slider.valueAsNumber);
    });
    this.element = h("span", { class: "symbol" }, h("code", {}, label), this.slider, this.number.input);
  }

  take(value: number, change: (value: number) => void): void {
    this.change = change;
    const other = this.number.take(value, (typed) => {
      this.slider.value = String(typed);
      change(typed);
    });
    if (!other) return;
    this.slider.max = String(Math.max(24, 2 * value));
    this.slider.value = String(value);
  }
}
