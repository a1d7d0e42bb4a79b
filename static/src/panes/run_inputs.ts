// The fields for a run's inputs: one for each parameter, or one for each size of random ones.
import { namesIn } from "../arithmetic";
import * as client from "../client";
import { arrange, h, replace } from "../dom";
import { parameterOf, propose, type Parameter, type Sizes } from "../input_types";
import { dataSet, isCount, sizesFrom, splitValues } from "../inputs";
import type { Model } from "../model";
import { Keyed, NumberField } from "../number_field";
import type { Entry, Run } from "../kept";

/** What the user chose; everything else follows the program. */
export interface InputSettings {
  typed: boolean;
  /** What was typed, by `name: type`. */
  inputs: Record<string, string>;
  /** Sizes that were typed, by name. */
  sizes: Sizes;
  seed: number;
}

/** Inputs that an example or a link comes with: values, or types with sizes to make values of. */
export interface Given {
  input: string;
  random: string;
}

export const NOTHING: Given = { input: "", random: "" };

export class RunInputs {
  readonly element = h("div", { class: "run-fields" });
  private parameters: Parameter[] = [];
  private texts: string[] = [];
  private sizes: Sizes = {};
  private drawn = 0;
  private readonly valueFields = new Keyed<{ name: HTMLLabelElement; field: HTMLTextAreaElement; element: HTMLElement }>();
  private readonly sizeFields = new Keyed<{ number: NumberField; element: HTMLElement }>();
  private readonly sizeRow = h("div", { class: "run-sizes" });

  constructor(private readonly model: Model, private readonly changed: () => void) {}

  /** The inputs that the fields show, as a part of a request. */
  request({ typed, seed }: InputSettings): Pick<Run, "input" | "sizes" | "seed"> {
    return typed ? { input: this.texts.join("\n") } : { sizes: this.sizes, seed };
  }

  /** Everything that is shown, as if it had been typed: for links. */
  shown(): Pick<InputSettings, "inputs" | "sizes"> {
    return { inputs: Object.fromEntries(this.parameters.map((one, k) => [keyOf(one), this.texts[k]!])), sizes: this.sizes };
  }

  /** The data set in the program's comments, or else what is given. */
  from(entry: Entry, given: Given): Given {
    const own = dataSet(this.model.source, entry.name);
    return own.input || own.random || entry.name !== "main" ? own : given;
  }

  draw(entry: Entry, settings: InputSettings, from: Given): void {
    this.drawn += 1;
    this.parameters = entry.params.map((type, k) => parameterOf(type, entry.names?.[k] ?? `#${k + 1}`));
    const typed = this.parameters.map((one) => settings.inputs[keyOf(one)]);
    this.texts = propose(this.parameters, typed, splitValues(from.input));
    if (!entry.params.length) replace(this.element, h("p", { class: "quiet" }, `${entry.name} takes no inputs.`));
    else if (settings.typed) this.values(settings);
    else void this.generated(entry, settings, from.random);
  }

  private values(settings: InputSettings): void {
    const fields = this.valueFields.of(this.parameters, keyOf, (one) => {
      const name = h("label", {}, label(one));
      const field = h("textarea", { rows: 1, spellcheck: "false" });
      return { name, field, element: h("div", { class: "run-field" }, name, field) };
    });
    for (const [k, { name, field }] of fields.entries()) {
      field.id = name.htmlFor = `run-value-${k}`;
      const text = this.texts[k]!;
      if (field.value !== text) field.value = text;
      field.oninput = () => {
        this.texts[k] = settings.inputs[keyOf(this.parameters[k]!)] = field.value;
        this.changed();
      };
    }
    arrange(this.element, ...fields.map(({ element }) => element));
  }

  /** Sizes by name; those that only the compiler can name come later. */
  private async generated(entry: Entry, settings: InputSettings, random: string): Promise<void> {
    const mine = this.drawn;
    const proposed = sizesFrom(random, entry.params, entry.names ?? []);
    const counts = new Set(this.parameters.filter(({ type }) => isCount(type)).map(({ name }) => name));
    const dims = this.parameters.flatMap(({ leaves }) => leaves ?? []).flatMap((leaf) => leaf.dims);
    const show = (known: readonly string[]): void => {
      const names = [...new Set([...dims.flatMap(namesIn), ...counts, ...known])];
      this.sizes = Object.fromEntries(names.map((name) => [name, settings.sizes[name] ?? proposed[name] ?? (counts.has(name) ? 10 : 1000)]));
      this.drawSizes(settings);
    };
    show([]);
    if (dims.every(Boolean) && this.parameters.every(({ leaves }) => leaves)) return;
    const made = await client.ask(
      "generate", { entry: entry.name, sizes: {}, seed: settings.seed }, this.model.now,
    );
    if (made.ok && mine === this.drawn) show(Object.keys(made.sizes ?? {}));
  }

  private drawSizes(settings: InputSettings): void {
    const sizes = Object.entries(this.sizes).map(([name, value]): Numbered => (
      { id: `run-size-${name}`, name, value, change: (typed) => (this.sizes[name] = settings.sizes[name] = typed) }));
    const wanted = [...sizes, { id: "run-seed", name: "seed", value: settings.seed, change: (typed: number) => (settings.seed = typed) }];
    const fields = this.sizeFields.of(wanted, ({ id }) => id, ({ id, name, value }) => {
      const number = new NumberField(value, { step: 1, id });
      return { number, element: h("div", { class: "run-size" }, h("label", { for: id }, name), number.input) };
    });
    wanted.forEach(({ value, change }, k) => fields[k]!.number.take(value, (typed) => {
      change(typed);
      this.changed();
    }));
    arrange(this.element, h("p", { class: "quiet types" }, ...this.parameters.map(label)), this.sizeRow);
    arrange(this.sizeRow, ...fields.map(({ element }) => element));
  }
}

interface Numbered {
  id: string;
  name: string;
  value: number;
  change: (value: number) => void;
}

const keyOf = ({ name, type }: Parameter): string => `${name}: ${type}`;

function label({ name, type }: Parameter): HTMLElement {
  return h("code", {}, name.startsWith("#") ? type : `${name}: ${type}`);
}
