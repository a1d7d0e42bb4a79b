// Which program the page shows: an example, a link, a lesson, the reader's; and what follows when it changes.
import * as client from "./client";
import type { Compiler } from "./compile";
import type { Details } from "./details";
import type { Dock } from "./dock";
import type { SourceEditor } from "./editor";
import { isUntouched } from "./file_tabs";
import { MAIN, sameProgram, type Saved } from "./files";
import type { Header } from "./header";
import type { Example, Frozen, Look } from "./kept";
import type { Keeper } from "./keeper";
import { firstStages } from "./layouts";
import type { Follower } from "./lecture";
import type { LessonBox } from "./lesson";
import type { Link } from "./link";
import { BEFORE, type Model } from "./model";
import { settingsOf, type RunPane } from "./panes/run";
import { NOTHING } from "./panes/run_inputs";
import type { LinkedA, Pins } from "./pinned";
import { load, save } from "./storage";
import type { Said, Story } from "./story";
import { Travel, type Stop } from "./travel";
import type { LessonAnswer } from "./types";
import { earlierTexts, remember, runOf, saveRun, type Work } from "./work";
import type { PaneChoice, Workbench } from "./workbench";

/** The text of a new program. */
const BEGINNING = "entry main (x: i64) = x + 1\n";
const root = document.getElementById("app")!;

/** Parts of the page that follow the program. */
export interface Parts {
  readonly model: Model;
  readonly link: Link;
  readonly compiler: Compiler;
  readonly editor: SourceEditor;
  readonly dock: Dock;
  readonly workbench: Workbench;
  readonly details: Details;
  readonly header: Header;
  readonly story: Story;
  readonly lesson: LessonBox;
  readonly runPane: RunPane;
  readonly pins: Pins;
  readonly follower: Follower | null;
  readonly travel: Travel;
  /** True if what is shown has yet to be compiled by its teacher. */
  readonly awaits: boolean;
  readonly started: boolean;
  readonly broken: (error: unknown) => void;
  save(): void;
  look(look: Look, seen?: Element): void;
  select(hash: string): void;
  /** Go somewhere else, in such a way that one can come back. */
  leave(go: () => void, path?: string): void;
}

export class Programs {
  /** Title and notes of the link that is shown. */
  said: Said = { title: "", notes: "" };
  examples: Example[] = [];
  /** The example that is shown, or "". */
  example = "";

  constructor(
    private readonly page: Parts,
    private readonly keeper: Keeper,
  ) {}

  async load(): Promise<void> {
    const { permalink, example, front, program, look, lesson } = root.dataset;
    const state = permalink ? await client.frozen(permalink) : null;
    const [manifest, examples] = await Promise.all([state ? state.manifest : client.manifest(), client.examples()]);
    this.page.model.setManifest(manifest);
    this.examples = examples;
    const kept = Travel.kept;
    const work = kept ?? load<Work>("work");
    this.page.dock.restore(kept?.layout ?? load("layout"));
    if (!kept && (permalink || program || lesson || example)) this.page.pins.apart();
    if (this.page.follower && !this.page.follower.own) void this.page.pins.mirror(null);
    if (this.page.follower)
      this.show((this.page.follower.own && kept) || { source: "" }, (this.page.follower.own && kept?.example) || "");
    else if (state) this.thaw(permalink!, state, kept?.frozen === permalink ? kept : null);
    else if (program && !kept) {
      this.show(JSON.parse(program) as Saved, "");
      if (look) this.page.look(JSON.parse(look) as Look);
    } else if (lesson) await this.openLesson(lesson, kept);
    else if (example) this.openExample(example, kept?.example === example ? kept : {});
    else if (work && !isUntouched(work)) this.show(work, work.example);
    else this.openExample(front ?? examples[0]?.name ?? "");
  }

  /** Show a permalink as it was stored; nothing is compiled until the text changes. */
  thaw(id: string, state: Frozen, kept: Stop | null): void {
    const { model } = this.page;
    const view = { ...((state.view ?? {}) as Partial<Work>), ...kept };
    this.page.compiler.drop();
    this.page.link.choose(null);
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
    this.page.editor.load(
      { source: state.source, files: state.files, main: state.main, open: view.open },
      this.page.started,
    );
    model.emit("source");
    this.page.workbench.set(view.panes ?? this.firstPanes());
    model.remarks = state.remarks;
    model.made = model.now;
    model.stages.clear();
    model.places = null;
    model.setStages(state.stages);
    model.setStatus({ phase: state.error ? "failed" : "idle" });
    model.setProblems(state.error ? (state.error.errors ?? [state.error]) : []);
    model.setEntries(state.entries);
    this.keeper.answered(state.asked ?? []);
    this.ready("", view);
    const { title, notes, a } = (state.view ?? {}) as { title?: unknown; notes?: unknown; a?: Partial<LinkedA> };
    if (a) void this.page.pins.restore(a);
    this.said = { title: String(title ?? ""), notes: String(notes ?? "") };
    this.page.story.tell(this.said);
    this.page.runPane.restore(...settingsOf(view.run, state.run?.request));
    if (state.run) this.page.runPane.show(state.run.request, state.run.answer);
    model.emit("frozen");
  }

  /** The name of the lesson that the page is about, or nothing. */
  get inLesson(): string {
    return root.dataset.lesson ?? "";
  }

  /** True if the page is about what others made, and the reader's own work stays as it is. */
  get isBound(): boolean {
    return this.inLesson !== "" || this.page.follower?.ended === false;
  }

  /** Store a follower's edits of the teacher's program before that comes back. */
  keepOwn(): void {
    if (!this.isNobodys()) remember(this.page.model.files.saved());
  }

  /** After a lecture what is shown is the reader's, and what was theirs before is among the earlier texts. */
  ownFromNow(): void {
    const work = load<Work>("work");
    if (work) remember(work);
    if (this.page.awaits) this.page.compiler.changed(true);
    this.page.travel.arrive(this.page.model.frozen ? `/z/${this.page.model.frozen.id}` : "/");
    this.keeper.save();
  }

  /** A lesson's program as the reader left it, or as it is. */
  private async openLesson(name: string, kept: Stop | null): Promise<void> {
    const { back = "", next = "" } = root.dataset;
    const lesson = await this.page.lesson.open(name, back, next);
    if (lesson) this.suppose(lesson);
    const work = kept ?? load<Work>(`lesson.${name}.work`);
    if (work) this.show(work, "");
    else if (lesson) this.showLesson(lesson);
    else this.show({ source: "" }, "");
  }

  showLesson(lesson: LessonAnswer): void {
    this.show({ source: lesson.source, options: lesson.options }, "");
    this.suppose(lesson);
    this.page.look({ ...lesson, text: "" }, this.page.lesson.element);
  }

  /** From here on programs are compiled: with the stages of today, which a link's may not be. */
  private thawed(): void {
    const { model } = this.page;
    if (model.frozen && (this.said.title || this.said.notes)) this.page.story.show(null);
    if (model.frozen) this.said = { title: "", notes: "" };
    if (model.frozen)
      void client
        .manifest()
        .then((stages) => {
          if (model.frozen) return;
          model.setManifest(stages);
          model.emit("stages");
        })
        .catch(this.page.broken);
    model.frozen = null;
    model.emit("frozen");
  }

  /** Show a program, in the panes that it was left in, if it was here before. */
  show(work: Partial<Work> & Saved, example: string, compiled = true): void {
    const { model } = this.page;
    const isOther = this.page.started && example !== this.example;
    const before = this.isBound ? null : this.page.started && !model.frozen ? model.files.saved() : load<Work>("work");
    if (before && !sameProgram(before, work) && !this.isExample(before)) remember(before);
    if (work.options) model.options = work.options;
    this.page.link.choose(null);
    if (this.page.started && !model.frozen && !this.page.follower) saveRun(this.example, this.page.runPane.settings);
    this.page.editor.load(work, this.page.started);
    this.thawed();
    this.said = { title: "", notes: "" };
    model.emit("source");
    if (work.panes?.length) this.page.workbench.set(work.panes);
    else if (!this.page.started) this.page.workbench.set(this.firstPanes());
    this.ready(example, { run: runOf(example), ...work });
    if (isOther) this.page.pins.apart();
    this.keeper.answered(work.expressions ?? []);
    if (compiled) this.page.compiler.changed(true);
  }

  openExample(name: string, view: Partial<Work> = {}): void {
    const example = this.examples.find((candidate) => candidate.name === name);
    if (example && this.isBound) return location.assign(`/examples/${name}`);
    if (example)
      this.page.leave(
        () => this.show({ ...view, source: example.source, main: example.main || MAIN }, name),
        `/examples/${name}`,
      );
  }

  openOther(program: Saved): void {
    const { source, files = {}, main = MAIN, open = main } = program;
    this.page.pins.apart();
    if (this.isBound) {
      const work = load<Work>("work");
      if (work) remember(work);
      save("work", { ...this.keeper.view(), options: {}, source, files, main, open, example: "" } satisfies Work);
      return location.assign("/");
    }
    this.page.leave(() => this.show({ source, files, main, open }, ""), "/");
  }

  /** A small program of the reader's, selected, so that what is typed takes its place. */
  newProgram(): void {
    this.openOther({ source: BEGINNING });
    const { view } = this.page.editor;
    view.dispatch({ selection: { anchor: 0, head: view.state.doc.length } });
    view.focus();
  }

  /** The reader's program that something else took the place of last, or else a new one. */
  ownProgram(): void {
    const [last] = earlierTexts();
    if (last) this.openOther(last);
    else this.newProgram();
  }

  private isExample(program: Saved): boolean {
    return this.examples.some(({ source, main }) => sameProgram({ source, main: main || MAIN }, program));
  }

  /** True if an example, a link or nothing is shown: no work of the reader's. */
  isNobodys(): boolean {
    const program = this.page.model.files.saved();
    return this.page.model.frozen !== null || this.isExample(program) || isUntouched(program);
  }

  /** Back or forward to what an entry holds. */
  async goTo(stop: Stop): Promise<void> {
    const { model } = this.page;
    const same =
      sameProgram(stop, model.files.saved()) && JSON.stringify(stop.options) === JSON.stringify(model.options);
    if (stop.frozen !== (model.frozen?.id ?? "") && stop.frozen) {
      const state = await client.frozen(stop.frozen);
      if (location.pathname !== `/z/${stop.frozen}`) return;
      this.page.pins.apart();
      this.thaw(stop.frozen, state, stop);
      return;
    }
    if (stop.layout !== undefined) this.page.dock.restore(stop.layout);
    const { hash } = location;
    if (!same || (model.frozen && !stop.frozen)) {
      this.show(stop, stop.example);
      return this.page.select(hash);
    }
    this.page.editor.open(stop.open ?? model.files.main);
    this.page.workbench.set(stop.panes);
    this.page.dock.open(stop.tab, false);
    this.keeper.drawAs(stop);
    this.page.link.choose(null);
    this.page.select(hash);
  }

  /** The program is there: the rest of the page follows. */
  private ready(example: string, view: Partial<Work>): void {
    this.example = example;
    this.page.header.setExamples(this.examples, example);
    this.page.header.setTarget(this.page.model.options.target ?? "c");
    const shown = this.examples.find((candidate) => candidate.name === example) ?? null;
    this.page.story.show(shown);
    this.page.story.follow(this.page.model.source);
    if (view.tab) this.page.dock.open(view.tab, false);
    this.keeper.drawAs(view, false);
    this.page.runPane.restore(view.run ?? {}, shown ?? undefined);
  }

  private firstPanes(): PaneChoice[] {
    return firstStages(this.page.model.manifest).map((stage) => ({ stage, compare: BEFORE }));
  }

  edited(): void {
    const { model } = this.page;
    if (!this.page.started) return;
    const elsewhere = location.pathname !== "/" && !this.isBound;
    // From here on this text is the work in progress: what was it until now is kept.
    const work = model.frozen && !this.isBound && load<Work>("work");
    if (work) remember(work);
    this.thawed();
    this.leaveExample();
    this.page.story.follow(model.source);
    model.emit("source");
    model.setRunProblems([]);
    this.page.compiler.changed();
    if (elsewhere) this.page.travel.arrive("/");
    this.page.save();
  }

  /** A text without the example's title is another program, about which its story tells nothing. */
  private leaveExample(): void {
    const shown = this.examples.find((candidate) => candidate.name === this.example);
    if (!shown || this.page.model.source.includes(shown.source.split("\n")[0]!)) return;
    saveRun(this.example, this.page.runPane.settings);
    this.example = "";
    this.page.runPane.give(NOTHING);
    this.page.story.show(null);
    this.page.header.setExamples(this.examples, "");
  }

  suppose(lesson: LessonAnswer): void {
    this.page.model.sizes.suppose(lesson.sizes);
    this.page.details.suppose(lesson);
  }
}
