// The fields for a run's inputs: one for each parameter, or one for each size of random ones.
import { namesIn } from "../arithmetic";
import * as client from "../client";
import { h, replace } from "../dom";
import { parameterOf, propose, type Parameter, type Sizes } from "../input_types";
import { dataSet, isCount, sizesFrom, splitValues } from "../inputs";
import type { Model } from "../model";
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
    replace(this.element, ...this.parameters.map((one, k) => {
      const field = h("textarea", { rows: 1, spellcheck: "false", id: `run-value-${k}` });
      field.value = this.texts[k]!;
      field.addEventListener("input", () => {
        this.texts[k] = settings.inputs[keyOf(one)] = field.value;
        this.changed();
      });
      return h("div", { class: "run-field" }, h("label", { for: field.id }, label(one)), field);
    }));
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
      this.sizeFields(settings);
    };
    show([]);
    if (dims.every(Boolean) && this.parameters.every(({ leaves }) => leaves)) return;
    const made = await client.ask(
      "generate", { entry: entry.name, sizes: {}, seed: settings.seed }, this.model.source, this.model.options,
    );
    if (made.ok && mine === this.drawn) show(Object.keys(made.sizes ?? {}));
  }

  private sizeFields(settings: InputSettings): void {
    const field = (name: string, value: number, change: (value: number) => void) => {
      const input = h("input", { type: "number", min: 0, step: 1, value, id: `run-size-${name}` });
      input.addEventListener("input", () => {
        if (Number.isSafeInteger(input.valueAsNumber)) change(input.valueAsNumber);
        this.changed();
      });
      return h("div", { class: "run-size" }, h("label", { for: input.id }, name), input);
    };
    replace(this.element,
      h("p", { class: "quiet types" }, ...this.parameters.map(label)),
      h("div", { class: "run-sizes" },
        ...Object.entries(this.sizes).map(([name, size]) => field(name, size, (value) => (this.sizes[name] = settings.sizes[name] = value))),
        field("seed", settings.seed, (value) => (settings.seed = value))));
  }
}

const keyOf = ({ name, type }: Parameter): string => `${name}: ${type}`;

function label({ name, type }: Parameter): HTMLElement {
  return h("code", {}, name.startsWith("#") ? type : `${name}: ${type}`);
}
