// The stage panes side by side: opening, closing, which one is current.
import { h } from "./dom";
import type { Link } from "./link";
import type { Model } from "./model";
import { StagePane } from "./panes/stage";

export interface PaneChoice {
  stage: string;
  compare: string;
}

const MOST = 4;

export class Workbench {
  readonly element = h("div", { class: "stages-area" });
  private panes: StagePane[] = [];
  private current: StagePane | null = null;

  constructor(
    private readonly model: Model,
    private readonly link: Link,
    private readonly changed: () => void,
  ) {}

  choices(): PaneChoice[] {
    return this.panes.map(({ stage, compare }) => ({ stage, compare }));
  }

  set(choices: readonly PaneChoice[]): void {
    const wanted = choices.slice(0, MOST);
    for (const pane of this.panes.slice(wanted.length)) this.remove(pane);
    wanted.forEach((choice, k) => {
      const pane = this.panes[k];
      if (!pane) this.add(choice);
      else if (pane.stage !== choice.stage || pane.compare !== choice.compare) pane.open(choice.stage, choice.compare);
    });
    this.changed();
  }

  shows(stage: string): boolean {
    return this.panes.some((pane) => pane.stage === stage);
  }

  /** Show a stage in the current pane, or in a new one. */
  open(stage: string, beside = false): void {
    const there = this.panes.find((pane) => pane.stage === stage);
    if (there && !beside) this.focus(there);
    else if (beside && this.panes.length < MOST) this.add({ stage, compare: "" });
    else if (this.current) this.current.open(stage);
    else this.add({ stage, compare: "" });
    this.changed();
  }

  /** Where panes stand below each other, bring the current one into sight. */
  reveal(): void {
    this.current?.element.scrollIntoView({ block: "nearest" });
  }

  /** Compare two stages in the current pane. */
  compare(stage: string, against: string): void {
    this.current?.open(stage, against);
  }

  step(by: number): void {
    this.current?.step(by);
  }

  private add(choice: PaneChoice): void {
    const pane = new StagePane(this.model, this.link, {
      changed: () => this.changed(),
      closed: (closing) => this.close(closing),
      focused: (focused) => this.focus(focused),
    }, choice.stage, choice.compare);
    this.panes.push(pane);
    this.element.append(pane.element);
    this.focus(pane);
  }

  private close(pane: StagePane): void {
    this.remove(pane);
    this.changed();
  }

  private remove(pane: StagePane): void {
    this.panes = this.panes.filter((other) => other !== pane);
    pane.destroy();
    if (this.current === pane) this.current = null;
    const last = this.panes.at(-1);
    if (last) this.focus(last);
  }

  private focus(pane: StagePane): void {
    this.current = pane;
    for (const other of this.panes) {
      other.element.classList.toggle("current", other === pane && this.panes.length > 1);
    }
  }
}
