// The fields for a run's inputs: one for each parameter, or one for each size of random ones.
import { namesIn, sized, type Sizes } from "../arithmetic";
import * as client from "../client";
import { announce, arrange, bytes, h, replace } from "../dom";
import { dimsOf, parameterOf, propose, type Parameter } from "../input_types";
import { block, dataSets, firstOf, isCount, sizesFrom, splitValues, type DataSet } from "../inputs";
import type { Model } from "../model";
import { Keyed, NumberField } from "../number_field";
import { ACCEPTED, textOf } from "../values/upload";
import type { Entry, Run } from "../kept";

/** The user's choices; everything else follows the program. */
export interface InputSettings {
  typed: boolean;
  /** Typed text, by `name: type`. */
  inputs: Record<string, string>;
  /** Sizes that were typed, by name. */
  sizes: Sizes;
  seed: number;
  distribution?: Run["distribution"];
}

const DISTRIBUTIONS: [NonNullable<Run["distribution"]>, string][] = [
  ["uniform", "uniform"],
  ["normal", "normal"],
  ["sorted", "uniform, sorted"],
  ["equal", "all equal"],
  ["borders", "borders: least, largest, 0, inf, NaN"],
];
const LONG = 20_000; // characters of a value that is not put into a field
const KEPT = 4000; // characters of inputs that are kept with a program

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
  private sizes = sized();
  private drawn = 0;
  /** Contents of files that are too long for a field, until the page is left. */
  private readonly files = new Map<string, { name: string; text: string }>();
  private sets: DataSet[] = [];
  /**
   * True if the fields are of an earlier text; `early`: text typed into them meanwhile, meant for
   * those to come.
   */
  private awaits = false;
  private readonly early = new Map<number, { type: string; text: string }>();
  private readonly choose = h("select", { "aria-label": "Data set" });
  private readonly keep = h(
    "button",
    { title: "Write these inputs into the program's comments, where its tests are" },
    "Keep in the program",
  );
  private readonly setsRow = h("div", { class: "run-top" }, this.choose, this.keep);
  private readonly problem = h("p", { class: "said", role: "alert" });
  private readonly distribution = h(
    "select",
    { "aria-label": "Distribution" },
    ...DISTRIBUTIONS.map(([id, name]) => h("option", { value: id }, name)),
  );
  private readonly valueFields = new Keyed<{
    name: HTMLLabelElement;
    field: HTMLTextAreaElement;
    file: HTMLInputElement;
    loaded: HTMLElement;
    element: HTMLElement;
  }>();
  private readonly sizeFields = new Keyed<{ number: NumberField; element: HTMLElement }>();
  private readonly sizeRow = h("div", { class: "run-sizes" });

  /** `write`: puts a text at the end of the program. */
  constructor(
    private readonly model: Model,
    private readonly changed: () => void,
    private readonly write: (text: string) => void,
  ) {
    model.on("source", () => {
      this.early.clear();
      this.awaits = true;
    });
    model.on("entries", () => (this.awaits = false));
  }

  /** The inputs that the fields show, as a part of a request. */
  request({ typed, seed, distribution }: InputSettings): Pick<Run, "input" | "sizes" | "seed" | "distribution"> {
    if (typed)
      return { input: this.parameters.map((one, k) => this.files.get(keyOf(one))?.text ?? this.texts[k]!).join("\n") };
    return { sizes: this.sizes, seed, ...(distribution && distribution !== "uniform" ? { distribution } : {}) };
  }

  /** Describe the typed values that are missing; "" for none. */
  lacking({ typed }: InputSettings): string {
    const names = this.parameters
      .filter((one, k) => !this.texts[k]!.trim() && !this.files.has(keyOf(one)) && one.leaves?.length !== 0)
      .map(({ name }) => `\`${name}\``);
    return typed && names.length
      ? `${names.join(", ")} ${names.length === 1 ? "has" : "have"} no value: type one, or choose random.`
      : "";
  }

  /** Everything that is shown, as if it had been typed: for links. */
  shown(): Pick<InputSettings, "inputs" | "sizes"> {
    return {
      inputs: Object.fromEntries(this.parameters.map((one, k) => [keyOf(one), this.texts[k]!])),
      sizes: this.sizes,
    };
  }

  /** The data set in the program's comments, or else what is given. */
  from(entry: Entry, given: Given): Given {
    this.sets = dataSets(this.model.source, entry.name);
    const own = firstOf(this.sets);
    return own.input || own.random || entry.name !== "main" ? own : given;
  }

  draw(entry: Entry, settings: InputSettings, from: Given): void {
    this.drawn += 1;
    this.parameters = entry.params.map((type, k) => parameterOf(type, entry.names?.[k] ?? `#${k + 1}`));
    if (!this.awaits) this.takeEarly(settings);
    const typed = this.parameters.map((one) => settings.inputs[keyOf(one)]);
    this.texts = propose(this.parameters, typed, splitValues(from.input));
    if (!entry.params.length) replace(this.element, h("p", { class: "quiet" }, `${entry.name} takes no inputs.`));
    else if (settings.typed) this.values(settings);
    else void this.generated(entry, settings, from.random);
  }

  /** Restore text typed during compilation to its field, if a field of the same type is there. */
  private takeEarly(settings: InputSettings): void {
    for (const [k, { type, text }] of this.early) {
      const one = this.parameters[k];
      if (one && unsized(one.type) === type) settings.inputs[keyOf(one)] ??= text;
    }
    this.early.clear();
  }

  private values(settings: InputSettings): void {
    const fields = this.valueFields.of(this.parameters, keyOf, (one) => {
      const name = h("label", {}, label(one));
      const field = h("textarea", { rows: 1, spellcheck: "false" });
      const file = h("input", { type: "file", accept: ACCEPTED, hidden: true });
      const pick = h(
        "button",
        {
          class: "pick",
          "aria-label": `${one.name}: from a file`,
          title: "From a file: .npy, .csv, a picture, Futhark's text or binary",
          onclick: () => file.click(),
        },
        "File…",
      );
      const loaded = h("p", { class: "quiet", hidden: true });
      return {
        name,
        field,
        file,
        loaded,
        element: h("div", { class: "run-field" }, name, h("div", {}, field, loaded), pick, file),
      };
    });
    for (const [k, { name, field, file, loaded }] of fields.entries()) {
      const key = keyOf(this.parameters[k]!);
      file.onchange = () => void this.read(file, k, settings);
      const long = this.files.get(key);
      field.hidden = long !== undefined;
      loaded.hidden = !long;
      if (long)
        replace(
          loaded,
          `${long.name}, ${bytes(long.text.length)} as text, until this page is left. `,
          h("button", { class: "link", onclick: () => this.drop(key, settings) }, "Take it out"),
        );
      field.id = name.htmlFor = `run-value-${k}`;
      const text = this.texts[k]!;
      if (field.value !== text) field.value = text;
      field.oninput = () => {
        const one = this.parameters[k]!;
        this.texts[k] = settings.inputs[keyOf(one)] = field.value;
        if (this.awaits) this.early.set(k, { type: unsized(one.type), text: field.value });
        this.changed();
      };
    }
    this.drawSets(settings);
    arrange(this.element, ...fields.map(({ element }) => element), this.setsRow, this.problem);
  }

  /** The data sets of the program, and a way to add what the fields hold. */
  private drawSets(settings: InputSettings): void {
    const typed = this.sets.filter(({ input }) => input);
    replace(
      this.choose,
      h("option", { value: "" }, "Data sets of the program…"),
      ...typed.map(({ name }, k) => h("option", { value: k }, name)),
    );
    this.choose.hidden = !typed.length;
    this.choose.onchange = () => {
      const chosen = typed[Number(this.choose.value)];
      if (!chosen) return;
      for (const one of this.parameters) {
        delete settings.inputs[keyOf(one)];
        this.files.delete(keyOf(one));
      }
      const texts = propose(this.parameters, [], splitValues(chosen.input));
      for (const [k, one] of this.parameters.entries()) settings.inputs[keyOf(one)] = this.texts[k] = texts[k]!;
      this.values(settings);
      this.changed();
    };
    this.keep.onclick = () => {
      const input = this.request(settings).input ?? "";
      const frozen = this.model.frozen ? "A link is not changed: edit it first." : "";
      this.problem.textContent =
        frozen ||
        (input.length > KEPT
          ? `These inputs have ${input.length} characters; at most ${KEPT} are kept with a program.`
          : "");
      if (this.problem.textContent) return;
      this.write(`\n${block(this.model.entry, `set ${this.sets.length + 1}`, input)}`);
      announce("The inputs are in the program.");
    };
  }

  /** Take a file as the value of a parameter. */
  private async read(from: HTMLInputElement, k: number, settings: InputSettings): Promise<void> {
    const [file, one] = [from.files?.[0], this.parameters[k]!];
    from.value = "";
    if (!file) return;
    this.problem.textContent = "";
    try {
      const text = await textOf(file, one.leaves?.length === 1 ? one.leaves[0]! : null);
      if (text.length > LONG) this.files.set(keyOf(one), { name: file.name, text });
      else settings.inputs[keyOf(one)] = this.texts[k] = text;
      if (text.length <= LONG) this.files.delete(keyOf(one));
    } catch (error) {
      this.problem.textContent = error instanceof Error ? error.message : String(error);
    }
    this.values(settings);
    this.changed();
  }

  private drop(key: string, settings: InputSettings): void {
    this.files.delete(key);
    this.values(settings);
    this.changed();
  }

  /** Sizes by name; those that only the compiler can name come later. */
  private async generated(entry: Entry, settings: InputSettings, random: string): Promise<void> {
    const mine = this.drawn;
    const proposed = sizesFrom(random, entry.params, entry.names ?? []);
    const counts = new Set(this.parameters.filter(({ type }) => isCount(type)).map(({ name }) => name));
    const dims = this.parameters.flatMap(({ kind }) => (kind ? dimsOf(kind) : []));
    const show = (known: readonly string[]): void => {
      const names = [...new Set([...dims.flatMap(namesIn), ...counts, ...known])];
      this.sizes = sized(
        Object.fromEntries(
          names.map((name) => [name, settings.sizes[name] ?? proposed[name] ?? (counts.has(name) ? 10 : 1000)]),
        ),
      );
      this.drawSizes(settings);
    };
    show([]);
    if (dims.every(Boolean) && this.parameters.every(({ kind }) => kind)) return;
    const made = await client.ask("generate", { entry: entry.name, sizes: {}, seed: settings.seed }, this.model.now);
    if (made.ok && mine === this.drawn) show(Object.keys(made.sizes ?? {}));
  }

  private drawSizes(settings: InputSettings): void {
    const sizes = Object.entries(this.sizes).map(
      ([name, value]): Numbered => ({
        id: `run-size-${name}`,
        name,
        value,
        change: (typed) => (this.sizes[name] = settings.sizes[name] = typed),
      }),
    );
    const wanted = [
      ...sizes,
      { id: "run-seed", name: "seed", value: settings.seed, change: (typed: number) => (settings.seed = typed) },
    ];
    const fields = this.sizeFields.of(
      wanted,
      ({ id }) => id,
      ({ id, name, value }) => {
        const number = new NumberField(value, { step: 1, id });
        return { number, element: h("div", { class: "run-size" }, h("label", { for: id }, name), number.input) };
      },
    );
    for (const [k, { value, change }] of wanted.entries())
      fields[k]!.number.take(value, (typed) => {
        change(typed);
        this.changed();
      });
    arrange(this.element, h("p", { class: "quiet types" }, ...this.parameters.map(label)), this.sizeRow);
    this.distribution.value = settings.distribution ?? "uniform";
    this.distribution.onchange = () => {
      settings.distribution = this.distribution.value as NonNullable<Run["distribution"]>;
      this.changed();
    };
    arrange(this.sizeRow, ...fields.map(({ element }) => element), this.distribution);
  }
}

interface Numbered {
  id: string;
  name: string;
  value: number;
  change: (value: number) => void;
}

const unsized = (type: string): string => type.replace(/\[[^\]]*\]/g, "[]");
const keyOf = ({ name, type }: Parameter): string => `${name}: ${type}`;

function label({ name, type }: Parameter): HTMLElement {
  return h("code", {}, name.startsWith("#") ? type : `${name}: ${type}`);
}
