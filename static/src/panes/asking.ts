// Panes that ask about the program: while they are seen, and once for each text that was compiled.
import * as client from "../client";
import { debounce, h } from "../dom";
import { Fresh } from "../fresh";
import { UNREACHED, type Model, type Text } from "../model";
import type { Operations } from "../types";
import { Today } from "./today";

export abstract class AskingPane {
  protected visible = false;
  /** The text that was asked about last. */
  protected seen: Text | null = null;
  private readonly today: Today;
  /** Why there is nothing to ask about, where nothing else is shown. */
  private readonly why = h("p", { class: "empty" });

  /** `what`: what the compiler of today would make of a link that does not hold it. */
  constructor(
    protected readonly model: Model,
    what: string,
  ) {
    this.today = new Today(model, what, () => this.refresh());
    const soon = debounce(60, () => this.refresh());
    model.on("stages", soon);
    model.on("status", soon);
  }

  /** Panes that are not seen ask nothing of the server. */
  show(visible: boolean): void {
    this.visible = visible;
    this.refresh();
  }

  /** Ask about this text, and show the answer. */
  protected abstract ask(of: Text): Promise<void>;

  /** Where a link that does not hold the answer says so. */
  protected abstract get place(): HTMLElement;

  /** True if the link that is shown holds the answer. */
  protected get kept(): boolean {
    return false;
  }

  /** The text of the question: another object for each text, or null. */
  protected get about(): Text | null {
    return this.model.made;
  }

  /** Ask, unless it has been done; `again`: even so. */
  protected refresh(again = false): void {
    const { about, place, why } = this;
    if (again) this.seen = null;
    if (!this.visible || (about && about === this.seen)) return;
    why.remove();
    if (!about) {
      why.textContent = UNREACHED[this.model.status.phase] ?? "";
      if (why.textContent && !place.textContent) place.append(why);
      return;
    }
    if (!this.kept && !this.today.permits(place)) return;
    this.seen = about;
    void this.ask(about);
  }
}

/** A pane's question about each text, by an operation's id, and the drawing of the answer. */
export interface Asked<O extends keyof Operations> {
  /** The answer that a link does not hold and today's compiler can give: "Checks are listed". */
  readonly what: string;
  readonly ask: O;
  draw(answer: Operations[O]["answer"], place: HTMLElement): void;
}

/** A pane that asks one question about each text. */
export class AnsweredPane<O extends keyof Operations> extends AskingPane {
  readonly element = h("div", { class: "scroll" });
  protected readonly place = h("div", {});
  private readonly fresh: Fresh;

  constructor(
    model: Model,
    private readonly asked: Asked<O>,
  ) {
    super(model, asked.what);
    this.fresh = new Fresh(model, this.place);
    this.element.append(this.fresh.element);
  }

  protected async ask(of: Text): Promise<void> {
    const nothing = {} as Omit<Operations[O]["request"], keyof Text>; // the program is all that it asks with
    const answer = await this.fresh.answer(of, client.ask(this.asked.ask, nothing, of));
    if (answer) this.asked.draw(answer, this.place);
  }
}
