// The page: what is shown, what becomes of it when another program, layout or link comes, and what is kept.
import { AnswerLine } from "./answer";
import * as client from "./client";
import { Compiler } from "./compile";
import { Details } from "./details";
import { Dock } from "./dock";
import { debounce, h } from "./dom";
import { SourceEditor } from "./editor";
import { fileRow } from "./file_row";
import { FileTabs, isUntouched } from "./file_tabs";
import { Header } from "./header";
import { Keeper } from "./keeper";
import { LayoutMenu } from "./layout_menu";
import { Follower, Lecturer, type View } from "./lecture";
import { SOURCE, type Preset } from "./layouts";
import { LessonBox } from "./lesson";
import { Link } from "./link";
import { BEFORE, Model } from "./model";
import { ExpressionBox } from "./panes/expression";
import { ProfileBox } from "./panes/profile";
import { RunPane } from "./panes/run";
import { ProgramA } from "./panes/program_a";
import { Programs } from "./programs";
import type { Desk } from "./panes/pane";
import { Attempts } from "./proof/attempts";
import { Palette, type Action } from "./palette";
import { first } from "./plain";
import { Pins } from "./pinned";
import { Rail } from "./rail";
import { fileOf, hashOf, placeIn, placeOf } from "./spans";
import { splitter } from "./splitter";
import { load, save } from "./storage";
import { Story } from "./story";
import { Texts } from "./texts";
import { Travel } from "./travel";
import { Trouble } from "./trouble";
import type { Look } from "./kept";
import type { Options, SourceCost, Span } from "./types";
import { Workbench, type PaneChoice } from "./workbench";

const root = document.getElementById("app")!;

/** Dependencies of the page that depend on it in turn. */
export interface Wiring {
  /** All that the palette offers. */
  actions(page: Page): Action[];
  /** Return the view for followers of the page. */
  shown(page: Page): View;
  /** Show what a teacher's page shows. */
  follow(page: Page, view: View, current: () => boolean): Promise<void>;
}

export class Page {
  readonly model = first.view?.model ?? new Model();
  readonly link = first.view?.link ?? new Link(this.model);
  private readonly trouble = new Trouble(() => this.goOn());
  readonly compiler = new Compiler(this.model, () => this.trouble.holds);
  readonly dock: Dock = new Dock({
    changed: () => this.arranged(),
    opened: (id) => this.workbench.opened(id),
    leave: (go) => this.leave(go),
  });
  readonly workbench = new Workbench(
    this.model,
    this.link,
    this.dock,
    () => this.arranged(),
    (edited) => this.setOptions({ edited }),
  );
  readonly texts = new Texts(this.model, () => this.workbench.choices());
  private readonly rail = new Rail(this.model, {
    open: (stage, beside) => this.openStage(stage, beside),
    shown: () => this.workbench.choices().map((choice) => choice.stage),
  });
  readonly layouts = new LayoutMenu(this.dock, {
    preset: (preset) => this.leave(() => this.arrange(preset)),
    named: ({ layout, panes, tab }) =>
      this.leave(() => {
        this.workbench.set(panes);
        this.dock.restore(layout);
        this.dock.open(tab);
      }),
    now: () => ({ layout: this.dock.kept, panes: this.workbench.choices(), tab: this.dock.current }),
  });
  readonly header = new Header(
    this.model,
    {
      example: (name) => this.programs.openExample(name),
      earlier: (program) => this.programs.openOther(program),
      own: () => this.programs.ownProgram(),
      fresh: () => this.programs.newProgram(),
      target: (target) => this.setTarget(target),
      run: () => this.runPane.toggle(),
      share: (said) => void this.share(said),
      lead: () => this.lead(),
    },
    this.layouts,
  );
  readonly palette = new Palette(() => this.wiring.actions(this));
  readonly story = new Story((look) => this.look(look));
  readonly lesson = new LessonBox({
    show: (lesson) => this.programs.showLesson(lesson),
    now: () => this.model.now,
    look: (lesson) => this.look({ ...lesson, text: "" }),
    cover: (covered) => this.cover(covered),
  });
  private readonly lecturer = new Lecturer(() => this.wiring.shown(this));
  readonly follower = root.dataset.lecture
    ? new Follower(root.dataset.lecture, root.dataset.code ?? "", {
        show: (view, current) => this.wiring.follow(this, view, current),
        left: () => this.travel.keep(),
        back: () => this.programs.keepOwn(),
        ended: () => this.programs.ownFromNow(),
      })
    : null;
  /** True if what is shown has yet to be compiled by its teacher. */
  awaits = false;
  readonly runPane = new RunPane(this.model, {
    known: () => this.compiler.known(),
    changed: () => this.save(),
    running: (running) => (this.header.running = running),
    used: () => this.used(),
    goTo: (span) => this.goToPlace(span),
    write: (text) => this.editor.append(text),
  });
  readonly expressions = new ExpressionBox(this.model, {
    backend: () => this.runPane.target(),
    changed: () => this.save(),
    used: () => this.used(),
    goTo: (span) => this.goToPlace(span),
  });
  readonly profile = new ProfileBox(this.model, {
    known: () => this.compiler.known(),
    request: () => ({ ...this.runPane.inputsOnly(), ...(this.aims("cuda") ? { backend: "cuda" } : {}) }),
    goTo: (span) => this.goToPlace(span),
    open: (stage) => this.openStage(stage),
  });
  readonly travel: Travel;
  /** The compilation that others are compared with. */
  readonly pins: Pins;
  readonly programA: ProgramA;
  readonly details: Details;
  private readonly attempts = new Attempts(this.model, () => this.dock.open("proof"));
  readonly answer: AnswerLine;
  readonly editor: SourceEditor;
  private readonly files: FileTabs;
  readonly keeper = new Keeper(this);
  readonly programs = new Programs(this, this.keeper);
  readonly save = debounce(250, () => this.keeper.save());
  started = false;
  readonly broken = problem;

  constructor(private readonly wiring: Wiring) {
    this.pins = new Pins(this.model, (shown) => this.workbench.pin(shown));
    this.details = new Details(this.desk(), this.dock, first.view?.panes);
    this.answer = new AnswerLine(this.model, this.link, {
      detail: (cost) => this.detail(cost),
      way: () => this.dock.open("selection"),
      enable: (ids) =>
        this.setOptions({ disable: (this.model.options.disable ?? []).filter((id) => !ids.includes(id)) }),
      insert: ({ line, col, text }) => this.editor.insert(line, col, text),
      told: (costs) => this.editor?.markCosts(costs),
    });
    this.model.shown = () =>
      this.workbench.choices().flatMap(({ stage, compare }) => [stage, this.model.against(stage, compare)]);
    this.model.inputs = async () => {
      await this.compiler.known();
      return this.runPane.inputsOnly();
    };
    this.runPane.side.append(this.profile.element, this.expressions.element);
    this.travel = new Travel(
      () => this.keeper.stop(),
      () => this.hash(),
      (stop) => {
        this.follower?.leave();
        return this.programs.goTo(stop).catch((error: unknown) => this.unanswered(error));
      },
    );
    const body = h("div", { class: "pane-body" });
    this.editor = new SourceEditor(body, this.model, this.link, this.texts, {
      edited: () => this.programs.edited(),
      leave: (go) => this.leave(go),
      create: (name) => this.files.create(name),
    });
    const source = h(
      "section",
      { class: "pane source", "aria-label": "Source" },
      this.lesson.element,
      this.story.element,
      this.lesson.editor,
      body,
    );
    this.files = new FileTabs(source, body, fileRow(this.dock.grip(SOURCE)), this.model, this.editor, {
      fresh: () => this.programs.newProgram(),
      changed: () => this.programs.edited(),
      isNobodys: () => this.programs.isNobodys(),
      replace: (program) => this.programs.openOther(program),
    });
    this.programA = new ProgramA(this.model, this.dock, this.editor, this.pins, this.texts);
    this.dock.add({ id: SOURCE, title: "Source", content: source });
    root.replaceChildren(...this.layout());
    this.model.on("files", () => this.save());
    this.model.on("source", () => this.lesson.edited());
    this.model.sizes.on(() => this.save());
    this.model.on("frozen", () => {
      const { frozen } = this.model;
      document.documentElement.classList.toggle("as-linked", frozen !== null && frozen.id === root.dataset.permalink);
    });
    this.link.on((selection, chosen) => {
      if (!chosen) return;
      if (selection?.origin !== "story") this.ring(null);
      if (this.started) this.travel.point();
    });
    if (load<boolean>("used")) this.used();
    this.model.on("trouble", () => (this.model.trouble ? this.trouble.show(this.model.trouble) : this.trouble.clear()));
    client.onTrouble((problem) => this.model.setTrouble(problem));
    this.model.on(
      "stages",
      debounce(60, () => this.follower?.shown && this.workbench.scrollTo(this.follower.shown.tops)),
    );
    window.addEventListener("pagehide", () => this.keeper.save());
  }

  /** Return the panes' interface to the page. */
  private desk(): Desk {
    const { model, link, texts, pins, runPane: run } = this;
    return {
      model,
      link,
      texts,
      pins,
      run,
      attempts: this.attempts,
      open: (stage) => this.openStage(stage),
      turnTo: (stage) => this.turnTo(stage),
      goTo: (span) => this.goToPlace(span),
      occurrence: (by) => this.workbench.occurrence(by),
      options: (options) => this.setOptions(options),
      mark: (accesses) => this.editor?.mark(accesses),
      beside: () => this.programA.open(),
      changed: () => this.save(),
    };
  }

  private layout(): HTMLElement[] {
    const run = this.runPane.element;
    const size = (px: number): void => root.style.setProperty("--run", `${px}px`);
    const kept = load<number>("size.--run");
    if (kept !== null) size(kept);
    const bar = splitter({
      label: "Height of the run pane",
      vertical: false,
      least: 64,
      before: false,
      most: () => window.innerHeight - 260,
      size: () => run.offsetHeight,
      set: (px) => {
        size(px);
        save("size.--run", px);
      },
    });
    return [
      this.header.element,
      h("nav", { "aria-label": "Pipeline" }, this.rail.element),
      h(
        "div",
        { class: "strips" },
        this.answer.element,
        this.follower?.element,
        this.lecturer.element,
        this.trouble.element,
      ),
      h("main", {}, this.dock.element, bar, run),
      this.palette.element,
    ];
  }

  /** Nothing can be typed before it is known what is shown. */
  async start(): Promise<void> {
    const work = root.querySelector("main")!;
    work.inert = true;
    try {
      await this.programs.load();
    } catch (error) {
      return this.unanswered(error);
    }
    work.inert = false;
    // Until it is known, what needs a device is not offered.
    client.backends().then(
      (found) => this.runPane.offer(found),
      () => undefined,
    );
    if (this.model.trouble && isUntouched(this.model.files.saved())) this.model.setTrouble(null);
    this.started = true;
    this.select(location.hash);
    this.travel.keep();
    this.rail.draw();
    if (this.follower) void this.follower.run();
    else this.lecturer.resume();
  }

  private unanswered(error: unknown): void {
    if (!(error instanceof client.Unanswered)) throw error;
    this.model.setTrouble(error.problem);
  }

  /** After a failure that was not the program's. */
  private goOn(): void {
    if (!this.started) void this.start().catch(problem);
    else if (this.model.frozen)
      this.model.askAgain(); // a link is shown as it was made
    else this.compiler.changed(true);
  }

  lead(): void {
    void this.lecturer.begin().then((refused) => (refused ? this.header.shareFailed(refused) : this.header.hideLink()));
  }

  /** Hide what the compiler made of the program: it decides a question that is not answered yet. */
  private cover(covered: boolean): void {
    if (covered) root.dataset.covered = "";
    else delete root.dataset.covered;
    this.rail.covered = covered;
  }

  /** Show a place, and come back from it where it is in another file. */
  private goToPlace(span: Span): void {
    const { files } = this.model;
    if (files.nameOf(fileOf(span)) === files.open) this.editor.goTo(span);
    else this.leave(() => this.editor.goTo(span));
  }

  openStage(stage: string, beside = false): void {
    if (this.workbench.shows(stage) && !beside) return this.turnTo(stage, beside);
    this.leave(() => this.turnTo(stage, beside));
  }

  private turnTo(stage: string, beside = false): void {
    this.dock.wide = false;
    this.workbench.open(stage, beside);
    this.workbench.reveal();
  }

  /** A layout that is offered, with as many stages as it is for: further ones are those before what is shown. */
  arrange(preset: Preset): void {
    const choices: PaneChoice[] = preset.film
      ? this.rail.changed.map(({ id }) => ({ stage: id, compare: BEFORE }))
      : this.workbench.choices();
    const present = this.model.manifest.map(({ id }) => id);
    while (choices.length < preset.stages) {
      const at = present.indexOf(choices[0]?.stage ?? "fused");
      choices.unshift({ stage: present[Math.max(0, at - 1)]!, compare: BEFORE });
    }
    this.workbench.set(choices);
    this.dock.arrange(preset);
  }

  /** Go somewhere else, in such a way that one can come back. */
  leave(go: () => void, path?: string): void {
    if (!this.started) return go();
    this.travel.keep();
    go();
    this.travel.arrive(path);
  }

  /** Return the fragment of the address for the selection. */
  hash(): string {
    const place = this.link.chosen?.spans[0];
    return place ? hashOf(place) : "";
  }

  /** Select what the address says, if the program has it. */
  select(hash: string): void {
    const place = placeIn(hash);
    const { files } = this.model;
    const known =
      place &&
      (!fileOf(place) || files.names().includes(files.nameOf(fileOf(place)))) &&
      place[2] <= this.model.textAt(place).split("\n").length;
    if (known) this.link.choose({ spans: [place], origin: "address", line: -1 });
  }

  /** True if runs, or the stages that are shown, are for that target. */
  private aims(target: string): boolean {
    return [this.model.options.target, this.runPane.request().backend].includes(target);
  }

  setTarget(target: string): void {
    this.setOptions({ target });
  }

  private setOptions(options: { [K in keyof Options]?: Options[K] | undefined }): void {
    const { model } = this;
    const all = Object.entries({ ...model.options, ...options });
    model.options = Object.fromEntries(all.filter(([, value]) => value !== undefined)) as Options;
    const thawed = model.frozen !== null;
    model.frozen = null;
    model.emit("frozen");
    model.emit("source");
    this.compiler.changed(true);
    if (thawed && !this.programs.isBound) this.travel.arrive("/");
    this.save();
  }

  /**
   * Follow a link of the story: to a stage, a place if it has one, a tab and what is drawn there; that, or
   * `seen`, comes into sight.
   */
  look({ stage, code, tab, object }: Look, seen?: Element): void {
    const place = placeOf(this.model.source, code);
    if (code && !place) return;
    this.leave(() => {
      this.turnTo(stage);
      if (place) this.link.choose({ spans: [place], origin: "story", line: -1 });
      this.dock.open(tab || "selection");
      if (!tab) this.turnTo(stage); // where both are tabs of one group
      this.details.look(tab, stage, object);
      this.ring(root.querySelector(tab ? `#panel-${tab}` : `.stage-pane[data-shows="${stage}"]`), seen);
    });
  }

  /** Show where a cost is told at length: its place, its pane, and there what it is about. */
  private detail({ src, pane, attempt, rule }: SourceCost): void {
    const spans = src.slice(0, 1);
    this.leave(() => {
      this.link.choose({ spans, origin: "answer", line: -1 });
      this.dock.open(pane);
    });
    if (pane === "proof" && attempt !== null) this.attempts.showOf({ attempt, rule, src });
  }

  /** A ring around what a step of a story means, until something else is chosen. */
  private ring(element: Element | null, seen = element): void {
    for (const ringed of root.querySelectorAll(".ring")) ringed.classList.remove("ring");
    element?.classList.add("ring");
    // After editors have come to what is selected: where panes lie below each other the page scrolls with them.
    if (seen) requestAnimationFrame(() => requestAnimationFrame(() => seen.scrollIntoView({ block: "nearest" })));
  }

  /** The run pane has its room from its first use on. */
  private used(): void {
    if (root.dataset.used === undefined) save("used", true);
    root.dataset.used = "";
  }

  private arranged(): void {
    this.rail?.draw();
    this.texts?.changed();
    this.save?.();
  }

  share(said = this.programs.said): Promise<void> {
    return this.keeper.share(said);
  }

  step(by: number): void {
    this.dock.wide = false;
    this.workbench.step(by);
  }
}

/** Say in the place of the page why there is none. */
export function problem(error: unknown): void {
  root.replaceChildren(
    h(
      "p",
      { class: "empty", role: "alert" },
      `The page could not be set up: ${error instanceof Error ? error.message : String(error)}. ` +
        `Reload to try again; your text is kept.`,
    ),
  );
}
