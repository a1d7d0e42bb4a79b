// Wiring: makes the parts of the page and tells each about the others.
import * as client from "./client";
import { Compiler } from "./compile";
import { h, debounce } from "./dom";
import { SourceEditor } from "./editor";
import { FileTabs, isUntouched } from "./file_tabs";
import { MAIN, sameProgram, type Saved } from "./files";
import { Header } from "./header";
import { Link } from "./link";
import { Model } from "./model";
import { BoundsPane } from "./panes/bounds";
import { MemoryPane } from "./panes/memory";
import { ProofPane } from "./panes/proof";
import { RemarksPane } from "./panes/remarks";
import { RunPane, type RunSettings } from "./panes/run";
import { NOTHING, type Given } from "./panes/run_inputs";
import { SelectionPane } from "./panes/selection";
import { TuningPane } from "./panes/tuning";
import { Attempts, sameAs } from "./proof/attempts";
import { Rail } from "./rail";
import { fileOf, keyOf, placeOf } from "./spans";
import { splitter } from "./splitter";
import { load, remember, runOf, save, saveRun, type Work } from "./storage";
import { Story } from "./story";
import { Tabs } from "./tabs";
import { Travel, type Stop } from "./travel";
import { Trouble } from "./trouble";
import type { Attempt, Example, Frozen, Look, Run } from "./kept";
import type { Remark, Span } from "./types";
import { Wide } from "./wide";
import { Workbench, type PaneChoice } from "./workbench";

const NOWHERE: Span = [0, 0, 0, 0];
const root = document.getElementById("app")!;

class Page {
  private readonly model = new Model();
  private readonly link = new Link(this.model);
  private readonly trouble = new Trouble(() => this.goOn());
  private readonly compiler = new Compiler(this.model, () => this.trouble.holds);
  private readonly workbench = new Workbench(this.model, this.link, () => this.arranged());
  private readonly rail = new Rail(this.model, {
    open: (stage, beside) => this.openStage(stage, beside),
    shown: () => this.workbench.choices().map((choice) => choice.stage),
  });
  private readonly header = new Header(this.model, {
    example: (name) => this.openExample(name),
    earlier: (program) => this.openOther(program),
    target: (target) => this.setTarget(target),
    run: () => this.runPane.toggle(),
    share: () => void this.share(),
  });
  private readonly story = new Story((look) => this.look(look));
  private readonly runPane = new RunPane(this.model, {
    known: () => this.compiler.known(),
    changed: () => this.save(),
    running: (running) => (this.header.running = running),
    used: () => this.used(),
    goTo: (span) => this.goToPlace(span),
  });
  private readonly wide = new Wide(root);
  private readonly travel: Travel;
  private readonly tabs: Tabs;
  private readonly memory: MemoryPane;
  private readonly proof: ProofPane;
  private readonly editor: SourceEditor;
  private readonly files: FileTabs;
  private examples: Example[] = [];
  private example = "";
  private readonly save = debounce(250, () => this.saveNow());
  private started = false;

  constructor() {
    const memory = this.memory = new MemoryPane(this.model, this.link);
    const tuning = new TuningPane(this.model, this.link);
    const attempts = new Attempts(this.model);
    const proof = this.proof = new ProofPane(this.model, this.link, attempts);
    const showAttempt = (wanted: (attempt: Attempt) => boolean): void => {
      this.tabs.open("proof");
      proof.open(wanted);
    };
    // Links from before attempts had numbers know the place only.
    const showProof = (remark: Remark): void => showAttempt((one) => remark.attempt === undefined
      ? one.rule === remark.rule && keyOf(one.src[0] ?? NOWHERE) === keyOf(remark.src[0] ?? NOWHERE)
      : one.number === remark.attempt);
    const selection = new SelectionPane(this.model, this.link, attempts, {
      open: (stage) => this.openStage(stage),
      goTo: (span) => this.goToPlace(span),
      attempt: (attempt) => showAttempt(sameAs(attempt)),
      proof: showProof,
    });
    const remarks = new RemarksPane(this.model, this.link, showProof);
    const bounds = new BoundsPane(this.model, this.link, (accesses) => this.editor?.mark(accesses));
    this.tabs = new Tabs("Details", [
      { id: "memory", title: "Memory", content: memory.element, show: (visible) => memory.show(visible) },
      { id: "proof", title: "Proof", content: proof.element, show: (visible) => proof.show(visible) },
      { id: "selection", title: "Selection", content: selection.element, show: (visible) => selection.show(visible) },
      { id: "remarks", title: "Remarks", content: remarks.element, show: (visible) => remarks.show(visible) },
      { id: "bounds", title: "Bounds", content: bounds.element, show: (visible) => bounds.show(visible) },
      { id: "versions", title: "Versions", content: tuning.element, show: (visible) => tuning.show(visible) },
    ], () => this.arranged(), this.wide.button);
    this.travel = new Travel(() => this.stop(), (stop) => this.goTo(stop).catch((error: unknown) => this.unanswered(error)));
    const body = h("div", { class: "pane-body" });
    this.editor = new SourceEditor(body, this.model, this.link, {
      edited: () => this.edited(),
      leave: (go) => this.leave(go),
      create: (name) => this.files.create(name),
    });
    const source = h("section", { class: "pane source", "aria-label": "Source" }, this.story.element, body);
    this.files = new FileTabs(source, body, this.model, this.editor, {
      changed: () => this.edited(),
      isNobodys: () => this.isNobodys(),
      replace: (program) => this.openOther(program),
    });
    root.replaceChildren(...this.layout(source));
    this.model.on("files", () => this.save());
    this.link.on((selection, chosen) => chosen && selection?.origin !== "story" && this.ring(null));
    if (load<boolean>("used")) this.used();
    this.keys();
    this.model.on("trouble", () => this.model.trouble ? this.trouble.show(this.model.trouble) : this.trouble.clear());
    client.onTrouble((problem) => this.model.setTrouble(problem));
    window.addEventListener("pagehide", () => this.saveNow());
  }

  private layout(source: HTMLElement): HTMLElement[] {
    const side = this.tabs.element;
    const run = this.runPane.element;
    const work = h("div", { class: "work" });
    work.append(source,
      splitter({ label: "Width of the source", property: "--source", target: root, vertical: true, least: 240, before: true,
        most: () => window.innerWidth - 500, size: () => source.offsetWidth }),
      this.workbench.element,
      splitter({ label: "Width of the details", property: "--side", target: root, vertical: true, least: 240, before: false,
        most: () => window.innerWidth - 500, size: () => side.offsetWidth }),
      side);
    const bar = splitter({ label: "Height of the run pane", property: "--run", target: root, vertical: false, least: 64, before: false,
      most: () => window.innerHeight - 260, size: () => run.offsetHeight });
    return [this.header.element, h("nav", { "aria-label": "Pipeline" }, this.rail.element), this.trouble.element, h("main", {}, work, bar, run)];
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
    client.backends().then((found) => this.runPane.offer(found), () => undefined);
    if (this.model.trouble && isUntouched(this.model.files.saved())) this.model.setTrouble(null);
    this.started = true;
    this.travel.keep();
    this.rail.draw();
  }

  private unanswered(error: unknown): void {
    if (!(error instanceof client.Unanswered)) throw error;
    this.model.setTrouble(error.problem);
  }

  /** After a failure that was not the program's. */
  private goOn(): void {
    if (!this.started) void this.start().catch(problem);
    else if (this.model.frozen) this.model.askAgain(); // a link is shown as it was made
    else this.compiler.changed(true);
  }

  private async load(): Promise<void> {
    const { permalink, example, front } = root.dataset;
    const state = permalink ? await client.frozen(permalink) : null;
    const [manifest, examples] = await Promise.all([state ? state.manifest : client.manifest(), client.examples()]);
    this.model.manifest = manifest;
    this.examples = examples;
    const kept = Travel.kept;
    const work = kept ?? load<Work>("work");
    if (state) this.thaw(permalink!, state, kept?.frozen === permalink ? kept : null);
    else if (example) this.openExample(example, kept?.example === example ? kept : {});
    else if (work && !isUntouched(work)) this.show(work, work.example);
    else this.openExample(front ?? examples[0]?.name ?? "");
  }

  /** Show a permalink as it was stored; nothing is compiled until the text changes. */
  private thaw(id: string, state: Frozen, kept: Stop | null): void {
    const { model } = this;
    const view = { ...(state.view ?? {}) as Partial<Work>, ...kept };
    this.compiler.drop();
    this.link.choose(null);
    model.manifest = state.manifest;
    model.options = state.options;
    model.frozen = {
      id, version: state.version, made: state.made ?? "",
      attempts: state.attempts ?? null, lifetimes: state.lifetimes ?? null,
    };
    this.editor.load({ source: state.source, files: state.files, main: state.main, open: view.open }, this.started);
    model.emit("source");
    this.workbench.set(view.panes ?? this.firstPanes());
    model.remarks = state.remarks;
    model.made = model.now;
    model.stages.clear();
    model.setStages(state.stages);
    model.setStatus({ phase: state.error ? "failed" : "idle" });
    model.setProblems(state.error ? state.error.errors ?? [state.error] : []);
    model.setEntries(state.entries);
    this.ready("", view);
    this.runPane.restore(...settingsOf(view.run, state.run?.request));
    if (state.run) this.runPane.show(state.run.request, state.run.answer);
    model.emit("frozen");
  }

  /** From here on programs are compiled: with the stages of today, which a link's may not be. */
  private thawed(): void {
    const { model } = this;
    if (model.frozen) void client.manifest().then((stages) => {
      if (model.frozen) return;
      model.manifest = stages;
      model.emit("stages");
    }).catch(problem);
    model.frozen = null;
    model.emit("frozen");
  }

  /** Show a program, in the panes that it was left in, if it was here before. */
  private show(work: Partial<Work> & Saved, example: string): void {
    const { model } = this;
    const before = this.started && !model.frozen ? model.files.saved() : load<Work>("work");
    if (before && !sameProgram(before, work) && !this.isExample(before)) remember(before);
    if (work.options) model.options = work.options;
    this.link.choose(null);
    if (this.started && !model.frozen) saveRun(this.example, this.runPane.settings);
    this.editor.load(work, this.started);
    this.thawed();
    model.emit("source");
    if (work.panes?.length) this.workbench.set(work.panes);
    else if (!this.started) this.workbench.set(this.firstPanes());
    this.ready(example, { run: runOf(example), ...work });
    this.compiler.changed(true);
  }

  private openExample(name: string, view: Partial<Work> = {}): void {
    const example = this.examples.find((candidate) => candidate.name === name);
    if (example) this.leave(() => this.show({ ...view, source: example.source }, name), `/examples/${name}`);
  }

  private openOther(program: Saved): void {
    const { source, files = {}, main = MAIN, open = main } = program;
    this.leave(() => this.show({ source, files, main, open }, ""), "/");
  }

  private isExample(program: Saved): boolean {
    return this.examples.some(({ source }) => sameProgram({ source }, program));
  }

  /** What is shown is an example, a link, or nothing: no work of the reader's. */
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

  private openStage(stage: string, beside = false): void {
    if (this.workbench.shows(stage) && !beside) return this.turnTo(stage, beside);
    this.leave(() => this.turnTo(stage, beside));
  }

  private turnTo(stage: string, beside = false): void {
    this.wide.set(false);
    this.workbench.open(stage, beside);
    this.workbench.reveal();
  }

  /** Go somewhere else, in such a way that one can come back. */
  private leave(go: () => void, path?: string): void {
    if (!this.started) return go();
    this.travel.keep();
    go();
    this.travel.arrive(path);
  }

  /** What this entry of the browser's history holds. */
  private stop(): Stop {
    const { files, options, frozen } = this.model;
    return { ...files.saved(), options, example: this.example, frozen: frozen?.id ?? "", ...this.view() };
  }

  /** Back or forward to what an entry holds. */
  private async goTo(stop: Stop): Promise<void> {
    const { model } = this;
    const same = sameProgram(stop, model.files.saved()) && JSON.stringify(stop.options) === JSON.stringify(model.options);
    if (stop.frozen !== (model.frozen?.id ?? "") && stop.frozen) {
      const state = await client.frozen(stop.frozen);
      if (location.pathname === `/z/${stop.frozen}`) this.thaw(stop.frozen, state, stop);
      return;
    }
    if (!same || model.frozen && !stop.frozen) return this.show(stop, stop.example);
    this.editor.open(stop.open ?? model.files.main);
    this.workbench.set(stop.panes);
    this.tabs.open(stop.tab, false);
  }

  /** The program is there: the rest of the page follows. */
  private ready(example: string, view: Partial<Work>): void {
    this.example = example;
    this.header.setExamples(this.examples, example);
    this.header.setTarget(this.model.options.target ?? "c");
    const shown = this.examples.find((candidate) => candidate.name === example) ?? null;
    this.story.show(shown);
    this.story.follow(this.model.source);
    this.proof.restore(view.attempt ?? null);
    if (view.tab) this.tabs.open(view.tab, false);
    this.runPane.restore(view.run ?? {}, shown ?? undefined);
  }

  private firstPanes(): PaneChoice[] {
    const ids = this.model.manifest.map((info) => info.id);
    const wanted = window.innerWidth >= 1700 ? ["fused", "funmem"] : ["fused"];
    const chosen = wanted.filter((id) => ids.includes(id));
    return (chosen.length ? chosen : ids.slice(0, 1)).map((stage) => ({ stage, compare: "" }));
  }

  private edited(): void {
    const { model } = this;
    if (!this.started) return;
    const elsewhere = location.pathname !== "/";
    // From here on this text is the work in progress: what was it until now is kept.
    const work = model.frozen && load<Work>("work");
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

  private setTarget(target: string): void {
    const { model } = this;
    model.options = { ...model.options, target };
    const thawed = model.frozen !== null;
    model.frozen = null;
    model.emit("frozen");
    model.emit("source");
    this.compiler.changed(true);
    if (thawed) this.travel.arrive("/");
    this.save();
  }

  private async share(): Promise<void> {
    this.header.sharing = true;
    const { now, files: { main, open } } = this.model;
    const answer = await client.share(now, this.runPane.last, {
      ...this.view(), ...(open === main ? {} : { open }), run: this.runPane.shown(),
    });
    this.header.sharing = false;
    if (answer.ok) this.header.showLink(answer.url);
    else this.header.shareFailed(answer.error.message);
  }

  /** Follow a link of the story: to a stage, a place, a tab and what is drawn there. */
  private look({ stage, code, tab, object }: Look): void {
    const place = placeOf(this.model.source, code);
    if (!place) return;
    this.leave(() => {
      this.turnTo(stage);
      this.link.choose({ spans: [place], origin: "story", line: -1 });
      this.tabs.open(tab || "selection");
      if (tab === "memory") this.memory.look(stage, object);
      this.ring(root.querySelector(tab ? `#panel-${tab}` : `.stage-pane[data-shows="${stage}"]`));
    });
  }

  /** A ring around what a step of a story means, until something else is chosen. */
  private ring(element: Element | null): void {
    for (const ringed of root.querySelectorAll(".ring")) ringed.classList.remove("ring");
    element?.classList.add("ring");
  }

  /** The run pane has its room from its first use on. */
  private used(): void {
    if (root.dataset["used"] === undefined) save("used", true);
    root.dataset["used"] = "";
  }

  private view(): Pick<Work, "panes" | "tab" | "run" | "attempt"> {
    return { panes: this.workbench.choices(), tab: this.tabs.current, run: this.runPane.settings, attempt: this.proof.current };
  }

  private arranged(): void {
    this.rail?.draw();
    this.save?.();
  }

  private saveNow(): void {
    if (!this.started) return;
    this.travel.keep();
    const { files, options, frozen } = this.model;
    if (!frozen) save("work", { ...files.saved(), options, example: this.example, ...this.view() } satisfies Work);
  }

  private keys(): void {
    document.addEventListener("keydown", (event) => {
      const control = event.ctrlKey || event.metaKey;
      if (control && event.key === "Enter") void this.runPane.run();
      else if (control && event.key === "s") void this.share();
      else if (event.altKey && event.key === "ArrowRight") this.step(1);
      else if (event.altKey && event.key === "ArrowLeft") this.step(-1);
      else if (event.key === "F6") this.nextPane(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") return this.link.choose(null);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }, { capture: true });
  }

  private step(by: number): void {
    this.wide.set(false);
    this.workbench.step(by);
  }

  private nextPane(by: number): void {
    const panes = [...root.querySelectorAll<HTMLElement>(".rail, .pane, .run")];
    const at = panes.findIndex((pane) => pane.contains(document.activeElement));
    const next = panes[(at + by + panes.length) % panes.length];
    next?.querySelector<HTMLElement>(".cm-content, [tabindex='0'], select, button")?.focus();
  }
}

/** The run pane's settings in a link, and the inputs of the run in it. */
function settingsOf(kept: Partial<RunSettings> | undefined, request: Run = {}): [Partial<RunSettings>, Given] {
  const { entry, backend, input = "", sizes, seed } = request;
  const settings = kept?.inputs ? kept : {
    ...(entry ? { entry } : {}), ...(backend ? { backend } : {}), ...(seed === undefined ? {} : { seed }),
    typed: !sizes, sizes: sizes ?? {},
  };
  return [settings, { input, random: "" }];
}

function problem(error: unknown): void {
  root.replaceChildren(h("p", { class: "empty", role: "alert" },
    `The page could not be set up: ${error instanceof Error ? error.message : String(error)}. Reload to try again; what you typed is kept.`));
}

/** Lines are measured once: with the right face, if it comes soon. */
async function faces(): Promise<void> {
  const loads = ["400", "600", "italic 400"].map((style) => document.fonts.load(`${style} 13px "IBM Plex Mono"`));
  const late = new Promise((resolve) => setTimeout(resolve, 600));
  await Promise.race([Promise.allSettled(loads), late]);
}

faces().then(() => new Page().start()).catch(problem);
