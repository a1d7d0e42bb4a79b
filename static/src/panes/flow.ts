// What the statements of a stage give, one step after the other: values behind their lines, and cells of blocks.
import type { EditorView } from "@codemirror/view";
import * as client from "../client";
import { announce, h, replace } from "../dom";
import type { Flow } from "../kept";
import { reveal } from "../lit";
import { sameText, type Model, type Text } from "../model";
import { messageElement } from "../messages";
import { showBehind } from "../traced";
import type { FlowAnswer, FlowStep, Line } from "../types";

const FEW = 24; // values of earlier steps behind lines

export class FlowBar {
  readonly element = h("div", { class: "flow", hidden: true, role: "group", "aria-label": "Value flow" });
  private readonly slider = h("input", { type: "range", min: 1, "aria-label": "Step" });
  private readonly said = h("p", { class: "quiet", role: "status" });
  private readonly cells = h("div", { class: "flow-blocks" });
  private answer: FlowAnswer | null = null;
  private of: Text | null = null;
  private request: Flow["request"] | null = null;
  private stage = "";
  private asked = 0;

  /** `lines`: those that are shown. */
  constructor(
    private readonly model: Model,
    private readonly view: () => EditorView,
    private readonly lines: () => readonly Line[],
  ) {
    const move = (by: number) => () => this.to(this.slider.valueAsNumber + by);
    this.slider.addEventListener("input", () => this.to(this.slider.valueAsNumber));
    replace(
      this.element,
      h(
        "div",
        { class: "flow-steps" },
        h("button", { "aria-label": "Step back", onclick: move(-1) }, "←"),
        this.slider,
        h("button", { "aria-label": "Step on", onclick: move(1) }, "→"),
      ),
      this.said,
      this.cells,
    );
    model.on("source", () => this.of && !sameText(this.of, model.now) && this.close());
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  close(): void {
    this.asked += 1;
    this.element.hidden = true;
    this.answer = this.of = null;
    showBehind(this.view(), new Map());
  }

  /** Return the question that is shown, for a link. */
  shared(): Pick<Flow, "op" | "request">[] {
    return this.answer && this.request ? [{ op: "flow", request: this.request }] : [];
  }

  /** Show the last step of a run of the stage: of one that is kept, or on the inputs of the run pane. */
  async open(stage: string, kept?: Flow): Promise<void> {
    const mine = (this.asked += 1);
    const of = (this.of = this.model.now);
    this.stage = stage;
    this.element.hidden = false;
    this.answer = null;
    this.said.textContent = "Running…";
    replace(this.cells);
    const request = (this.request = kept?.request ?? { ...(await this.model.inputs()), stage });
    if (mine !== this.asked) return;
    const answer = kept?.answer ?? (await client.post("flow", { ...of, ...request }));
    if (mine !== this.asked) return;
    if (!answer.ok) {
      this.said.textContent = "";
      return replace(this.cells, messageElement(answer.error));
    }
    this.answer = answer;
    this.slider.max = String(Math.max(1, answer.steps.length));
    this.to(answer.steps.length);
  }

  /** Show another stage's text: what is known is not of it. */
  follow(stage: string): void {
    if (this.isOpen && stage !== this.stage) this.close();
  }

  private to(wanted: number): void {
    const steps = this.answer?.steps ?? [];
    const at = Math.min(steps.length, Math.max(1, wanted));
    this.slider.value = String(at);
    const step = steps[at - 1];
    if (!step) return void (this.said.textContent = `No statement was run. ${this.answer?.note ?? ""}`);
    const found = new Map<number, string>();
    for (const earlier of steps.slice(Math.max(0, at - FEW), at)) {
      const text = earlier.values
        .map((one) => one.text)
        .filter(Boolean)
        .join(", ");
      const line = this.lines().findIndex(({ node }) => node === earlier.node);
      if (text && line >= 0) found.set(line + 1, text);
    }
    const line = this.lines().findIndex(({ node }) => node === step.node);
    showBehind(this.view(), found);
    if (line >= 0) reveal(this.view(), line);
    const given = step.values.map(({ name, text }) => `${name} = ${text}`).join(", ") || "no value";
    this.said.textContent =
      `Step ${at} of ${steps.length}, line ${line + 1}: ${given}` +
      (at === steps.length && this.answer!.note ? `. ${this.answer!.note}` : "");
    this.drawCells(step);
    announce(this.said.textContent);
  }

  private drawCells(step: FlowStep): void {
    const arrays = step.values.filter((one) => one.block !== undefined);
    replace(
      this.cells,
      ...arrays.map(({ name, block, at = [] }, k) =>
        h(
          "div",
          { class: "flow-block" },
          h("p", {}, h("code", {}, name), " in ", h("code", {}, this.answer!.blocks[block!]!)),
          h(
            "ol",
            { "aria-label": `Cells of ${this.answer!.blocks[block!]!}` },
            ...step.cells![k]!.map((cell, number) => {
              const own = at.indexOf(number);
              return h(
                "li",
                {
                  class: own < 0 ? "" : "own",
                  title: own < 0 ? `cell ${number}` : `cell ${number}: element ${own} of ${name}`,
                },
                cell,
              );
            }),
          ),
        ),
      ),
    );
  }
}
