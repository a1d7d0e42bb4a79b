// The stage panes: opening, closing, which one is current.
import { announce } from "./dom";
import type { Dock } from "./dock";
import type { Flow } from "./kept";
import type { Link } from "./link";
import { topOf, toTop, type Top } from "./lit";
import { BEFORE, PINNED, type Model } from "./model";
import { StagePane } from "./panes/stage";
import type { WriteTexts } from "./written";

export interface PaneChoice {
  stage: string;
  compare: string;
}

const MOST = 8;

export class Workbench {
  private panes: StagePane[] = [];
  private current: StagePane | null = null;

  constructor(
    private readonly model: Model,
    private readonly link: Link,
    private readonly dock: Dock,
    private readonly changed: () => void,
    private readonly write: WriteTexts,
  ) {}

  choices(): PaneChoice[] {
    return this.inOrder().map(({ stage, compare }) => ({ stage, compare }));
  }

  /** Return the scroll positions of the panes of `choices`. */
  tops(): Top[] {
    return this.inOrder().map(({ view }) => topOf(view));
  }

  scrollTo(tops: readonly Top[]): void {
    for (const [k, { view }] of this.inOrder().entries()) if (tops[k]) toTop(view, tops[k]);
  }

  private inOrder(): StagePane[] {
    const order = this.dock.order;
    return this.panes.toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
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

  /** The value flows that are shown, for a link. */
  shared(): Pick<Flow, "op" | "request">[] {
    return this.inOrder().flatMap((pane) => pane.shared());
  }

  shows(stage: string): boolean {
    return this.panes.some((pane) => pane.stage === stage);
  }

  /** Show a stage in the current pane, or in a new one. */
  open(stage: string, beside = false): void {
    const there = this.panes.find((pane) => pane.stage === stage);
    if (there && !beside) this.focus(there);
    else if (beside && this.panes.length < MOST) this.add({ stage, compare: BEFORE });
    else if (beside) return announce(`${MOST} stages are already open: close one first.`);
    else if (this.current) this.current.open(stage);
    else this.add({ stage, compare: BEFORE });
    if (this.current) this.dock.open(this.current.id, false);
    this.changed();
  }

  /** A pane's tab was opened. */
  opened(id: string): void {
    const pane = this.panes.find((one) => one.id === id);
    if (pane) this.focus(pane);
  }

  /** Where panes stand below each other, bring the current one into sight. */
  reveal(): void {
    this.current?.element.scrollIntoView({ block: "nearest" });
  }

  /** Show all stages against A, or none of them any more. */
  pin(pinned: boolean): void {
    for (const pane of this.panes)
      if (pinned || pane.compare === PINNED) pane.open(pane.stage, pinned ? PINNED : BEFORE);
  }

  difference(by: number): void {
    this.current?.difference(by);
  }

  /** Compare two stages in the current pane. */
  compare(stage: string, against: string): void {
    this.current?.open(stage, against);
  }

  occurrence(by: number): void {
    this.current?.occurrence(by);
  }

  step(by: number): void {
    this.current?.step(by);
  }

  private add(choice: PaneChoice): void {
    const taken = this.panes.map(({ id }) => id);
    const id = Array.from({ length: MOST }, (_, k) => `stage-${k + 1}`).find((one) => !taken.includes(one))!;
    const pane = new StagePane(
      id,
      this.dock.grip(id),
      this.model,
      this.link,
      {
        changed: () => {
          this.dock.retitle();
          this.changed();
        },
        closed: (closing) => this.close(closing),
        focused: (focused) => this.focus(focused),
      },
      this.write,
      choice.stage,
      choice.compare,
    );
    pane.view.scrollDOM.addEventListener("scroll", () => this.scrolled(pane));
    this.panes.push(pane);
    this.dock.add({
      id,
      title: () => this.model.info(pane.stage)?.title ?? pane.stage,
      content: pane.element,
      taken: () => pane.taken,
    });
    this.focus(pane);
  }

  /** Scroll all panes of a filmstrip to the same part of the source. */
  private scrolled(pane: StagePane): void {
    if (!this.dock.isFilm || !pane.element.matches(":hover, :focus-within")) return;
    const line = pane.sourceAtTop;
    if (line) for (const other of this.panes) if (other !== pane) other.toSource(line);
  }

  private close(pane: StagePane): void {
    this.remove(pane);
    this.changed();
  }

  private remove(pane: StagePane): void {
    this.panes = this.panes.filter((other) => other !== pane);
    this.dock.remove(pane.id);
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
