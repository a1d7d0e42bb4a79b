// The page: what is shown, what becomes of it when another program, layout or link comes, and what is kept.
import { AnswerLine } from "./answer";
import * as client from "./client";
import { Compiler } from "./compile";
import { Dock } from "./dock";
import { debounce, h } from "./dom";
import { SourceEditor } from "./editor";
import { fileRow } from "./file_row";
import { FileTabs, isUntouched } from "./file_tabs";
import { firstWords, MAIN, sameProgram, type Saved } from "./files";
import { Header } from "./header";
import { LayoutMenu } from "./layout_menu";
import { Follower, Lecturer, type View } from "./lecture";
import { firstStages, SOURCE, type Preset } from "./layouts";
import { LessonBox } from "./lesson";
import { Link } from "./link";
import { BEFORE, Model } from "./model";
import { ExpressionBox } from "./panes/expression";
import { ProfileBox } from "./panes/profile";
import { RunPane, settingsOf } from "./panes/run";
import { NOTHING } from "./panes/run_inputs";
import { ProgramA } from "./panes/program_a";
import { PANES } from "panes:all";
import type { Desk, Keep, Pane, Share } from "./panes/pane";
import { Attempts } from "./proof/attempts";
import { Palette, type Action } from "./palette";
import { keepLink } from "./own_links";
import { first } from "./plain";
import { Pins, type LinkedA } from "./pinned";
import { Rail } from "./rail";
import { fileOf, hashOf, placeIn, placeOf } from "./spans";
import { splitter } from "./splitter";
import { load, save } from "./storage";
import { earlierTexts, remember, runOf, saveRun, type Work } from "./work";
import { Story, type Said } from "./story";
import { Texts } from "./texts";
import { Travel, type Stop } from "./travel";
import { Trouble } from "./trouble";
import type { AnyAsked, Example, Frozen, Look } from "./kept";
import type { LessonAnswer, Options, SourceCost, Span } from "./types";
import { Workbench, type PaneChoice } from "./workbench";

/** The text of a new program. */
const BEGINNING = "entry main (x: i64) = x + 1\n";
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
  private readonly texts = new Texts(this.model, () => this.workbench.choices());
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
      example: (name) => this.openExample(name),
      earlier: (program) => this.openOther(program),
      own: () => this.ownProgram(),
      fresh: () => this.newProgram(),
      target: (target) => this.setTarget(target),
      run: () => this.runPane.toggle(),
      share: (said) => void this.share(said),
      lead: () => this.lead(),
    },
    this.layouts,
  );
  readonly palette = new Palette(() => this.wiring.actions(this));
  readonly story = new Story((look) => this.look(look));
  private readonly lesson = new LessonBox({
    show: (lesson) => this.showLesson(lesson),
    now: () => this.model.now,
    look: (lesson) => this.look({ ...lesson, text: "" }),
    cover: (covered) => this.cover(covered),
  });
  private readonly lecturer = new Lecturer(() => this.wiring.shown(this));
  private readonly follower = root.dataset.lecture
    ? new Follower(root.dataset.lecture, root.dataset.code ?? "", {
        show: (view, current) => this.wiring.follow(this, view, current),
        left: () => this.travel.keep(),
        back: () => this.keepOwn(),
        ended: () => this.ownFromNow(),
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
  private readonly expressions = new ExpressionBox(this.model, {
    backend: () => this.runPane.target(),
    changed: () => this.save(),
    used: () => this.used(),
    goTo: (span) => this.goToPlace(span),
  });
  private readonly profile = new ProfileBox(this.model, {
    known: () => this.compiler.known(),
    request: () => ({ ...this.runPane.inputsOnly(), ...(this.aims("cuda") ? { backend: "cuda" } : {}) }),
    goTo: (span) => this.goToPlace(span),
    open: (stage) => this.openStage(stage),
  });
  private readonly travel: Travel;
  /** The compilation that others are compared with. */
  readonly pins: Pins;
  readonly programA: ProgramA;
  /** The panes of the details, by their ids. */
  private readonly panes: ReadonlyMap<string, Pane>;
  /** Panes with answers that a link keeps, in the order of their questions. */
  private readonly sharers: readonly Share[];
  private readonly attempts = new Attempts(this.model);
  private readonly answer: AnswerLine;
  readonly editor: SourceEditor;
  private readonly files: FileTabs;
  /** Title and notes of the link that is shown. */
  private said: Said = { title: "", notes: "" };
  examples: Example[] = [];
  example = "";
  private readonly save = debounce(250, () => this.saveNow());
  private started = false;

  constructor(private readonly wiring: Wiring) {
    this.pins = new Pins(this.model, (shown) => this.workbench.pin(shown));
    const desk = this.desk();
    const made = PANES.map((kind) => ({ kind, pane: first.view?.panes.get(kind.id) ?? kind.make(desk) }));
    this.panes = new Map(made.map(({ kind, pane }) => [kind.id, pane]));
    for (const { kind, pane } of made) {
      pane.element.inert = false; // the first view's is asleep
      const show = (visible: boolean): void => pane.show?.(visible);
      this.dock.add({ id: kind.id, title: kind.title, group: kind.group, content: pane.element, show });
    }
    this.answer = new AnswerLine(this.model, this.link, {
      detail: (cost) => this.detail(cost),
      way: () => this.dock.open("selection"),
      enable: (ids) =>
        this.setOptions({ disable: (this.model.options.disable ?? []).filter((id) => !ids.includes(id)) }),
      insert: ({ line, col, text }) => this.editor.insert(line, col, text),
      told: (costs) => this.editor?.markCosts(costs),
    });
    const shares = made.flatMap(({ pane }) => (pane.share ? [pane.share] : []));
    this.sharers = [this.expressions.share, ...shares, this.profile.share, this.answer.share];
    this.model.shown = () =>
      this.workbench.choices().flatMap(({ stage, compare }) => [stage, this.model.against(stage, compare)]);
    this.model.inputs = async () => {
      await this.compiler.known();
      return this.runPane.inputsOnly();
    };
    this.runPane.side.append(this.profile.element, this.expressions.element);
    this.travel = new Travel(
      () => this.stop(),
      () => this.hash(),
      (stop) => {
        this.follower?.leave();
        return this.goTo(stop).catch((error: unknown) => this.unanswered(error));
      },
    );
    const body = h("div", { class: "pane-body" });
    this.editor = new SourceEditor(body, this.model, this.link, this.texts, {
      edited: () => this.edited(),
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
      fresh: () => this.newProgram(),
      changed: () => this.edited(),
      isNobodys: () => this.isNobodys(),
      replace: (program) => this.openOther(program),
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
    window.addEventListener("pagehide", () => this.saveNow());
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
      show: (pane) => this.dock.open(pane),
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
      await this.load();
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

  private async load(): Promise<void> {
    const { permalink, example, front, program, look, lesson } = root.dataset;
    const state = permalink ? await client.frozen(permalink) : null;
    const [manifest, examples] = await Promise.all([state ? state.manifest : client.manifest(), client.examples()]);
    this.model.setManifest(manifest);
    this.examples = examples;
    const kept = Travel.kept;
    const work = kept ?? load<Work>("work");
    this.dock.restore(kept?.layout ?? load("layout"));
    if (!kept && (permalink || program || lesson || example)) this.pins.apart();
    if (this.follower && !this.follower.own) void this.pins.mirror(null);
    if (this.follower)
      this.show((this.follower.own && kept) || { source: "" }, (this.follower.own && kept?.example) || "");
    else if (state) this.thaw(permalink!, state, kept?.frozen === permalink ? kept : null);
    else if (program && !kept) {
      this.show(JSON.parse(program) as Saved, "");
      if (look) this.look(JSON.parse(look) as Look);
    } else if (lesson) await this.openLesson(lesson, kept);
    else if (example) this.openExample(example, kept?.example === example ? kept : {});
    else if (work && !isUntouched(work)) this.show(work, work.example);
    else this.openExample(front ?? examples[0]?.name ?? "");
  }

  /** Show a permalink as it was stored; nothing is compiled until the text changes. */
  thaw(id: string, state: Frozen, kept: Stop | null): void {
    const { model } = this;
    const view = { ...((state.view ?? {}) as Partial<Work>), ...kept };
    this.compiler.drop();
    this.link.choose(null);
    model.setManifest(state.manifest);
    model.options = state.options;
    model.frozen = {
      id,
      version: state.version,
      made: state.made ?? "",
      attempts: state.attempts ?? null,
      lifetimes: state.lifetimes ?? null,
      flows: state.asked?.filter((one) => one.op === "flow") ?? [],
    };
    this.editor.load({ source: state.source, files: state.files, main: state.main, open: view.open }, this.started);
    model.emit("source");
    this.workbench.set(view.panes ?? this.firstPanes());
    model.remarks = state.remarks;
    model.made = model.now;
    model.stages.clear();
    model.places = null;
    model.setStages(state.stages);
    model.setStatus({ phase: state.error ? "failed" : "idle" });
    model.setProblems(state.error ? (state.error.errors ?? [state.error]) : []);
    model.setEntries(state.entries);
    this.answered(state.asked ?? []);
    this.ready("", view);
    const { title, notes, a } = (state.view ?? {}) as { title?: unknown; notes?: unknown; a?: Partial<LinkedA> };
    if (a) void this.pins.restore(a);
    this.said = { title: String(title ?? ""), notes: String(notes ?? "") };
    this.story.tell(this.said);
    this.runPane.restore(...settingsOf(view.run, state.run?.request));
    if (state.run) this.runPane.show(state.run.request, state.run.answer);
    model.emit("frozen");
  }

  /** The name of the lesson that the page is about, or nothing. */
  private get inLesson(): string {
    return root.dataset.lesson ?? "";
  }

  /** True if the page is about what others made, and the reader's own work stays as it is. */
  private get isBound(): boolean {
    return this.inLesson !== "" || this.follower?.ended === false;
  }

  lead(): void {
    void this.lecturer.begin().then((refused) => (refused ? this.header.shareFailed(refused) : this.header.hideLink()));
  }

  /** Store a follower's edits of the teacher's program before that comes back. */
  private keepOwn(): void {
    if (!this.isNobodys()) remember(this.model.files.saved());
  }

  /** After a lecture what is shown is the reader's, and what was theirs before is among the earlier texts. */
  private ownFromNow(): void {
    const work = load<Work>("work");
    if (work) remember(work);
    if (this.awaits) this.compiler.changed(true);
    this.travel.arrive(this.model.frozen ? `/z/${this.model.frozen.id}` : "/");
    this.saveNow();
  }

  /** A lesson's program as the reader left it, or as it is. */
  private async openLesson(name: string, kept: Stop | null): Promise<void> {
    const { back = "", next = "" } = root.dataset;
    const lesson = await this.lesson.open(name, back, next);
    if (lesson) this.suppose(lesson);
    const work = kept ?? load<Work>(`lesson.${name}.work`);
    if (work) this.show(work, "");
    else if (lesson) this.showLesson(lesson);
    else this.show({ source: "" }, "");
  }

  /** Hide what the compiler made of the program: it decides a question that is not answered yet. */
  private cover(covered: boolean): void {
    if (covered) root.dataset.covered = "";
    else delete root.dataset.covered;
    this.rail.covered = covered;
  }

  private showLesson(lesson: LessonAnswer): void {
    this.show({ source: lesson.source, options: lesson.options }, "");
    this.suppose(lesson);
    this.look({ ...lesson, text: "" }, this.lesson.element);
  }

  /** From here on programs are compiled: with the stages of today, which a link's may not be. */
  private thawed(): void {
    const { model } = this;
    if (model.frozen && (this.said.title || this.said.notes)) this.story.show(null);
    if (model.frozen) this.said = { title: "", notes: "" };
    if (model.frozen)
      void client
        .manifest()
        .then((stages) => {
          if (model.frozen) return;
          model.setManifest(stages);
          model.emit("stages");
        })
        .catch(problem);
    model.frozen = null;
    model.emit("frozen");
  }

  /** Show a program, in the panes that it was left in, if it was here before. */
  show(work: Partial<Work> & Saved, example: string, compiled = true): void {
    const { model } = this;
    const isOther = this.started && example !== this.example;
    const before = this.isBound ? null : this.started && !model.frozen ? model.files.saved() : load<Work>("work");
    if (before && !sameProgram(before, work) && !this.isExample(before)) remember(before);
    if (work.options) model.options = work.options;
    this.link.choose(null);
    if (this.started && !model.frozen && !this.follower) saveRun(this.example, this.runPane.settings);
    this.editor.load(work, this.started);
    this.thawed();
    this.said = { title: "", notes: "" };
    model.emit("source");
    if (work.panes?.length) this.workbench.set(work.panes);
    else if (!this.started) this.workbench.set(this.firstPanes());
    this.ready(example, { run: runOf(example), ...work });
    if (isOther) this.pins.apart();
    this.answered(work.expressions ?? []);
    if (compiled) this.compiler.changed(true);
  }

  openExample(name: string, view: Partial<Work> = {}): void {
    const example = this.examples.find((candidate) => candidate.name === name);
    if (example && this.isBound) return location.assign(`/examples/${name}`);
    if (example)
      this.leave(
        () => this.show({ ...view, source: example.source, main: example.main || MAIN }, name),
        `/examples/${name}`,
      );
  }

  openOther(program: Saved): void {
    const { source, files = {}, main = MAIN, open = main } = program;
    this.pins.apart();
    if (this.isBound) {
      const work = load<Work>("work");
      if (work) remember(work);
      save("work", { ...this.view(), options: {}, source, files, main, open, example: "" } satisfies Work);
      return location.assign("/");
    }
    this.leave(() => this.show({ source, files, main, open }, ""), "/");
  }

  /** A small program of the reader's, selected, so that what is typed takes its place. */
  newProgram(): void {
    this.openOther({ source: BEGINNING });
    const { view } = this.editor;
    view.dispatch({ selection: { anchor: 0, head: view.state.doc.length } });
    view.focus();
  }

  /** The reader's program that something else took the place of last, or else a new one. */
  private ownProgram(): void {
    const [last] = earlierTexts();
    if (last) this.openOther(last);
    else this.newProgram();
  }

  private isExample(program: Saved): boolean {
    return this.examples.some(({ source, main }) => sameProgram({ source, main: main || MAIN }, program));
  }

  /** True if an example, a link or nothing is shown: no work of the reader's. */
  private isNobodys(): boolean {
    const program = this.model.files.saved();
    return this.model.frozen !== null || this.isExample(program) || isUntouched(program);
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

  /** Return the state for this entry of the browser's history. */
  stop(): Stop {
    const { files, options, frozen } = this.model;
    const expressions = this.expressions.kept();
    return {
      ...files.saved(),
      options,
      example: this.example,
      frozen: frozen?.id ?? "",
      ...this.view(),
      expressions,
      layout: this.dock.kept,
    };
  }

  /** Back or forward to what an entry holds. */
  private async goTo(stop: Stop): Promise<void> {
    const { model } = this;
    const same =
      sameProgram(stop, model.files.saved()) && JSON.stringify(stop.options) === JSON.stringify(model.options);
    if (stop.frozen !== (model.frozen?.id ?? "") && stop.frozen) {
      const state = await client.frozen(stop.frozen);
      if (location.pathname !== `/z/${stop.frozen}`) return;
      this.pins.apart();
      this.thaw(stop.frozen, state, stop);
      return;
    }
    if (stop.layout !== undefined) this.dock.restore(stop.layout);
    const { hash } = location;
    if (!same || (model.frozen && !stop.frozen)) {
      this.show(stop, stop.example);
      return this.select(hash);
    }
    this.editor.open(stop.open ?? model.files.main);
    this.workbench.set(stop.panes);
    this.dock.open(stop.tab, false);
    this.drawAs(stop);
    this.link.choose(null);
    this.select(hash);
  }

  /** The program is there: the rest of the page follows. */
  private ready(example: string, view: Partial<Work>): void {
    this.example = example;
    this.header.setExamples(this.examples, example);
    this.header.setTarget(this.model.options.target ?? "c");
    const shown = this.examples.find((candidate) => candidate.name === example) ?? null;
    this.story.show(shown);
    this.story.follow(this.model.source);
    if (view.tab) this.dock.open(view.tab, false);
    this.drawAs(view, false);
    this.runPane.restore(view.run ?? {}, shown ?? undefined);
  }

  private firstPanes(): PaneChoice[] {
    return firstStages(this.model.manifest).map((stage) => ({ stage, compare: BEFORE }));
  }

  private edited(): void {
    const { model } = this;
    if (!this.started) return;
    const elsewhere = location.pathname !== "/" && !this.isBound;
    // From here on this text is the work in progress: what was it until now is kept.
    const work = model.frozen && !this.isBound && load<Work>("work");
    if (work) remember(work);
    this.thawed();
    this.leaveExample();
    this.story.follow(model.source);
    model.emit("source");
    model.setRunProblems([]);
    this.compiler.changed();
    if (elsewhere) this.travel.arrive("/");
    this.save();
  }

  /** A text without the example's title is another program, about which its story tells nothing. */
  private leaveExample(): void {
    const shown = this.examples.find((candidate) => candidate.name === this.example);
    if (!shown || this.model.source.includes(shown.source.split("\n")[0]!)) return;
    saveRun(this.example, this.runPane.settings);
    this.example = "";
    this.runPane.give(NOTHING);
    this.story.show(null);
    this.header.setExamples(this.examples, "");
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
    if (thawed && !this.isBound) this.travel.arrive("/");
    this.save();
  }

  async share(said = this.said): Promise<void> {
    this.header.sharing = true;
    const {
      now,
      files: { main, open },
    } = this.model;
    const pinned = await this.pins.shared();
    const asked = [
      ...this.sharers.flatMap((one) => one.asked()),
      ...[this.texts, this.workbench].flatMap((one) => one.shared()),
    ];
    const answer = !pinned.ok
      ? pinned
      : await client.share(now, this.runPane.last, asked, {
          ...this.view(true),
          ...(open === main ? {} : { open }),
          run: this.runPane.shown(),
          ...(pinned.a ? { a: pinned.a } : {}),
          ...(said.title ? { title: said.title } : {}),
          ...(said.notes ? { notes: said.notes } : {}),
        });
    this.header.sharing = false;
    if (answer.ok) {
      this.said = said;
      keepLink(answer, said.title || firstWords(now));
      const shown = this.workbench.choices().map(({ stage }) => stage);
      const stages = shown.filter((stage) => this.model.manifest.some(({ id }) => id === stage));
      this.header.showLink(answer.url, said, stages);
    } else this.header.shareFailed(answer.error);
  }

  /**
   * Follow a link of the story: to a stage, a place if it has one, a tab and what is drawn there; that, or
   * `seen`, comes into sight.
   */
  private look({ stage, code, tab, object }: Look, seen?: Element): void {
    const place = placeOf(this.model.source, code);
    if (code && !place) return;
    this.leave(() => {
      this.turnTo(stage);
      if (place) this.link.choose({ spans: [place], origin: "story", line: -1 });
      this.dock.open(tab || "selection");
      if (!tab) this.turnTo(stage); // where both are tabs of one group
      this.panes.get(tab)?.look?.(stage, object);
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

  /** Return what is shown and drawn; `linked`: as far as a link holds the data for it. */
  private view(linked = false): Pick<Work, "panes" | "tab" | "run"> & Record<string, unknown> {
    const kept = this.kept.map(({ field, now, linked: ofLink = now }) => [field, linked ? ofLink() : now()]);
    return {
      panes: this.workbench.choices(),
      tab: this.dock.current,
      run: this.runPane.settings,
      sizes: this.model.sizes.now,
      ...Object.fromEntries(kept),
    };
  }

  private get kept(): readonly Keep[] {
    return [...this.panes.values()].flatMap(({ keep }) => (keep ? [keep] : []));
  }

  /** Draw in panes what a view says; `changed`: only where that is another thing. */
  drawAs(view: object, changed = true): void {
    const { sizes } = view as { sizes?: unknown };
    if (sizes !== undefined || !changed) this.model.sizes.restore(sizes);
    for (const { field, now, as } of this.kept) {
      const wanted = (view as Record<string, unknown>)[field];
      if (!changed || JSON.stringify(wanted) !== JSON.stringify(now())) as(wanted);
    }
  }

  /** Show what a link or this browser keeps of answers, and nothing of others. */
  private answered(asked: readonly AnyAsked[]): void {
    for (const one of this.sharers) one.restore(asked);
  }

  private suppose(lesson: LessonAnswer): void {
    this.model.sizes.suppose(lesson.sizes);
    for (const pane of this.panes.values()) pane.suppose?.(lesson);
  }

  private arranged(): void {
    this.rail?.draw();
    this.texts?.changed();
    this.save?.();
  }

  private saveNow(): void {
    if (!this.started) return;
    this.travel.keep();
    save("layout", this.dock.kept);
    const { files, options, frozen } = this.model;
    const expressions = this.expressions.kept();
    if (!frozen && (!this.isBound || this.inLesson))
      save(this.inLesson ? `lesson.${this.inLesson}.work` : "work", {
        ...files.saved(),
        options,
        example: this.example,
        ...this.view(),
        expressions,
      } satisfies Work);
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
        `Reload to try again; what you typed is kept.`,
    ),
  );
}
