// The fields for a run's inputs: one for each parameter, or one for each size of random ones.
import { namesIn, sized, type Sizes } from "../arithmetic";
import * as client from "../client";
import { announce, arrange, bytes, h, replace } from "../dom";
import { dimsOf, parameterOf, propose, type Parameter } from "../input_types";
import { block, dataSets, firstOf, isCount, sizesFrom, splitValues, type DataSet } from "../inputs";
import type { Model } from "../model";
import { Keyed, NumberField } from "../number_field";
import { Sending } from "../values/sending";
import { ACCEPTED, LONG, readFile } from "../values/upload";
import type { Values } from "../values/values";
import { viewsIn } from "./result";
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
  ["borders", "borders: smallest, largest, 0, inf, NaN"],
];
const UPLOADED = "\x02"; // stands in a text for a value that was sent
const FIRST = 6; // elements of such a value that are told
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
  /** Arrays from files, which the server has, or is sent. */
  private readonly sendings = new Map<string, Sending>();
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
  request({
    typed,
    seed,
    distribution,
  }: InputSettings): Pick<Run, "input" | "uploads" | "sizes" | "seed" | "distribution"> {
    if (typed) {
      const keys = this.parameters.map(keyOf);
      const value = (key: string, k: number): string =>
        this.sendings.has(key) ? UPLOADED : (this.files.get(key)?.text ?? this.texts[k]!);
      const uploads = keys.flatMap((key) => this.sendings.get(key)?.sent ?? []);
      return { input: keys.map(value).join("\n"), ...(uploads.length ? { uploads } : {}) };
    }
    return { sizes: this.sizes, seed, ...(distribution && distribution !== "uniform" ? { distribution } : {}) };
  }

  /** Describe the typed values that are missing; "" for none. */
  lacking({ typed }: InputSettings): string {
    const names = this.parameters
      .filter((one, k) => !this.texts[k]!.trim() && !this.isFromFile(keyOf(one)) && one.leaves?.length !== 0)
      .map(({ name }) => `\`${name}\``);
    return typed && names.length
      ? `${names.join(", ")} ${names.length === 1 ? "has" : "have"} no value: type one, or choose random.`
      : "";
  }

  private isFromFile(key: string): boolean {
    return this.files.has(key) || this.sendings.has(key);
  }

  /** Once the server has all that a run reads. Throws, in words, why it does not. */
  async sent({ typed }: InputSettings): Promise<void> {
    if (!typed) return;
    for (const one of this.parameters) await this.sendings.get(keyOf(one))?.send();
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
      const sending = this.sendings.get(key);
      field.hidden = this.isFromFile(key);
      loaded.hidden = !long && !sending;
      if (sending) this.drawSending(loaded, sending, key, settings);
      else if (long)
        replace(
          loaded,
          `${long.name}, ${bytes(long.text.length)} as text, until you leave this page. `,
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
        this.forget(keyOf(one));
      }
      const texts = propose(this.parameters, [], splitValues(chosen.input));
      for (const [k, one] of this.parameters.entries()) settings.inputs[keyOf(one)] = this.texts[k] = texts[k]!;
      this.values(settings);
      this.changed();
    };
    this.keep.onclick = () => {
      const input = this.request(settings).input ?? "";
      const frozen = this.model.frozen ? "A link cannot be changed: edit it first." : "";
      this.problem.textContent =
        frozen ||
        (input.length > KEPT
          ? `These inputs have ${input.length} characters; at most ${KEPT} can be kept with a program.`
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
      const read = await readFile(file, one.leaves?.length === 1 ? one.leaves[0]! : null);
      this.forget(keyOf(one));
      if (typeof read !== "string") this.send(file.name, read, keyOf(one), settings);
      else if (read.length > LONG) this.files.set(keyOf(one), { name: file.name, text: read });
      else settings.inputs[keyOf(one)] = this.texts[k] = read;
    } catch (error) {
      this.problem.textContent = error instanceof Error ? error.message : String(error);
    }
    this.values(settings);
    this.changed();
  }

  /** Send an array to the server: what is typed meanwhile, or was before, stays. */
  private send(name: string, values: Values, key: string, settings: InputSettings): void {
    const sending: Sending = new Sending(name, values, values.binary, () => {
      if (this.sendings.get(key) === sending) this.values(settings);
    });
    this.sendings.set(key, sending);
    void sending.send().catch(() => undefined); // it is told beside the field
  }

  /** The value that was read of a file, how much of it is sent, and its picture. */
  private drawSending(place: HTMLElement, sending: Sending, key: string, settings: InputSettings): void {
    const { name, values, data, part, isThere, problem } = sending;
    const { prim, shape, size } = values;
    const type = `${shape.map((one) => `[${one}]`).join("")}${prim}`;
    const first = Array.from({ length: Math.min(FIRST, size) }, (_, k) => values.text(k)).join(", ");
    const state =
      problem || (isThere ? "the server stores it until you leave this page" : `${Math.floor(100 * part)} % sent`);
    const button = (words: string, onclick: () => void): HTMLElement => h("button", { class: "link", onclick }, words);
    if (place.dataset.of !== name) {
      const source = {
        prim,
        shape,
        part: (cuts?: Parameters<Values["cut"]>[0]) => Promise.resolve(cuts ? values.cut(cuts) : values),
      };
      const shown = h("details", { class: "read" }, h("summary", {}, "Contents"), viewsIn(source));
      replace(place, h("span", {}), shown);
      place.dataset.of = name;
    }
    replace(
      place.firstElementChild!,
      `${name}: `,
      h("code", {}, type),
      `, ${bytes(data.size)}: ${first}${size > FIRST ? ", …" : ""}; ${state}. `,
      problem ? button("Try again", () => void sending.send().catch(() => undefined)) : "",
      " ",
      button("Take it out", () => this.drop(key, settings)),
    );
  }

  private forget(key: string): void {
    this.files.delete(key);
    this.sendings.get(key)?.drop();
    this.sendings.delete(key);
  }

  private drop(key: string, settings: InputSettings): void {
    this.forget(key);
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
