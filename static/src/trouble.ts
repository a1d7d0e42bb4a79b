// Failures that are not the program's: what happened, when it is asked again, and a button for it.
import { h, quoted, replace } from "./dom";
import { kindName } from "./messages";
import type { Problem } from "./types";

const AGAIN = [3, 30] as const; // seconds before it is asked again: at first, at most

/** These go by: the same request is answered later. */
const PASSING = new Set(["busy", "network"]);
const OTHERS = new Set(["timeout", "internal", "unavailable", "gone"]);

/** True if a failure says nothing about the user's program. */
export const isTrouble = ({ kind }: Problem): boolean => PASSING.has(kind) || OTHERS.has(kind);

export class Trouble {
  readonly element = h("div", { class: "trouble", hidden: true });
  private patience: number = AGAIN[0];
  private shown: Problem | null = null;
  private at = 0;
  private clock = 0;
  private readonly when = h("span", { class: "trouble-when" });
  private readonly button = h("button", { onclick: () => this.again() }, "Retry");

  constructor(private readonly retry: () => void) {
    window.addEventListener("online", () => this.shown?.kind === "network" && this.again());
  }

  /** True if the server has said when it will take a request again, and that is yet to come. */
  get holds(): boolean {
    return this.shown?.retry !== undefined && performance.now() < this.at;
  }

  show(problem: Problem): void {
    window.clearInterval(this.clock);
    this.shown = problem;
    this.button.disabled = false;
    this.when.textContent = "";
    replace(
      this.element,
      h(
        "p",
        { class: "trouble-text", role: "alert" },
        h("strong", {}, kindName(problem.kind)),
        " ",
        ...quoted(problem.message),
        " ",
        // How long to wait is what is counted down.
        ...(problem.hint && problem.retry === undefined ? quoted(problem.hint) : []),
      ),
      this.when,
      this.button,
    );
    this.element.hidden = false;
    if (PASSING.has(problem.kind)) this.wait(Math.max(problem.retry ?? 0, this.patience));
  }

  /** All is well. */
  clear(): void {
    window.clearInterval(this.clock);
    this.shown = null;
    this.patience = AGAIN[0];
    this.element.hidden = true;
    replace(this.element);
  }

  private wait(seconds: number): void {
    this.at = performance.now() + 1000 * seconds;
    const tick = (): void => {
      const left = Math.ceil((this.at - performance.now()) / 1000);
      if (left <= 0) this.again();
      else this.when.textContent = `Next try in ${left} s.`;
    };
    this.clock = window.setInterval(tick, 250);
    tick();
  }

  private again(): void {
    window.clearInterval(this.clock);
    this.at = 0;
    this.patience = Math.min(2 * this.patience, AGAIN[1]);
    this.when.textContent = "Asking again…";
    this.button.disabled = true;
    this.retry();
  }
}
