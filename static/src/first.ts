// The first view, drawn before the editors and all that is behind a click are there: an example's source, what stages
// make of it and its memory, by the parts that the page itself has. What is typed into the source meanwhile is kept.
import { foldsOf, isFolding } from "./asides";
import { AnswerLine } from "./answer";
import * as client from "./client";
import { Dock } from "./dock";
import { faces, h } from "./dom";
import { fileRow } from "./file_row";
import { MAIN } from "./files";
import { Header } from "./header";
import { LayoutMenu } from "./layout_menu";
import { KINDS } from "panes:kinds";
import { firstStages, SOURCE } from "./layouts";
import { Link } from "./link";
import { paneMenu, stageName } from "./menus";
import { BEFORE, Model } from "./model";
import { unnumbered } from "./numbers";
import { MemoryPane } from "./panes/memory";
import { first, plainStage, PlainSource, type PlainLine } from "./plain";
import { Rail } from "./rail";
import { inWords, since } from "./since";
import { hueAt } from "./spans";
import { load } from "./storage";
import { Story } from "./story";
import { Travel } from "./travel";
import type { CostsAnswer, Line, ShowAnswer } from "./types";

/** Data that the server puts into the page: answers about the example, and lines with their colours. */
interface First {
  example: string;
  known: client.Known;
  source: string[];
  stages: Record<string, string[]>;
}

const root = document.getElementById("app")!;
const nothing = (): void => undefined;

async function draw({ example, known, source, stages }: First): Promise<void> {
  const [manifest, examples] = await Promise.all([client.manifest(), client.examples(), faces()]);
  const shown = examples.find(({ name }) => name === example);
  const made = known.answers.find(({ request }) => request.op === "show")?.answer as ShowAnswer | undefined;
  if (!shown || !made?.ok) return;
  all().catch(nothing); // on its way while this is drawn
  // The page goes on with this one, and with the pane that is of it; the top and the rail are made anew.
  const [model, chrome] = [new Model(), new Model()];
  const wanted = firstStages(manifest);
  const link = new Link(model);
  const memory = new MemoryPane(model, link);
  const dock: Dock = new Dock({
    changed: nothing,
    leave: (go) => go(),
    opened: (id) => {
      if (first.view) first.view.opened = id;
    },
  });
  const header = new Header(
    chrome,
    {
      example: nothing,
      earlier: nothing,
      own: nothing,
      fresh: nothing,
      target: nothing,
      run: nothing,
      share: nothing,
      lead: nothing,
    },
    new LayoutMenu(dock, { preset: nothing, named: nothing, now: () => ({ layout: null, panes: [], tab: "" }) }),
  );
  const rail = new Rail(chrome, { open: nothing, shown: () => wanted });
  const story = new Story(nothing);
  const answer = new AnswerLine(chrome, new Link(chrome), {
    detail: nothing,
    way: nothing,
    enable: nothing,
    insert: nothing,
    told: nothing,
  });
  for (const one of [model, chrome]) {
    one.setManifest(manifest);
    one.files.load(known.text);
    one.remarks = made.remarks;
    one.made = one.now;
    one.setStages(made.stages);
    one.emit("status");
  }
  const costs = known.answers.find(({ request }) => request.op === "costs")?.answer as CostsAnswer | undefined;
  model.sizes.offer(Object.keys(costs?.sizes ?? {}));
  header.setExamples(examples, example);
  header.setTarget("c");
  story.show(shown);
  const hues = new Map(link.places().map((place) => [place[0], hueAt(place)]));
  const text = new PlainSource(
    known.text.source,
    source.map((html, k) => ({ html, margin: String(k + 1), hue: hues.get(k + 1) ?? 0 })),
  );
  for (const { id, title, group } of KINDS) {
    const own =
      id === "memory"
        ? { content: memory.element, show: (visible: boolean) => memory.show(visible) }
        : { content: h("p", { class: "empty" }, "This pane is loading.") };
    dock.add({ id, title, group, ...own });
  }
  const row = fileRow(dock.grip(SOURCE));
  row.name.textContent = known.text.main ?? MAIN;
  row.element.inert = true;
  dock.add({
    id: SOURCE,
    title: "Source",
    content: h(
      "section",
      { class: "pane source", "aria-label": "Source" },
      story.element,
      row.element,
      h("div", { class: "pane-body" }, text.element),
    ),
  });
  for (const [k, stage] of wanted.entries()) {
    const [own, html, info] = [made.stages[stage]?.lines, stages[stage], model.info(stage)];
    const body = h("div", { class: "pane-body" }, own && html && info ? stageText(own, html, info.kind) : null);
    dock.add({
      id: `stage-${k + 1}`,
      title: info?.title ?? stage,
      content: stagePane(model, stage, dock.grip(`stage-${k + 1}`), body),
    });
  }
  // Who clicks is early as well: only what is typed is kept, and which tab was opened.
  for (const part of [header.element, rail.element, answer.element, story.element, memory.element]) part.inert = true;
  root.replaceChildren(
    header.element,
    h("nav", { "aria-label": "Pipeline" }, rail.element),
    h("div", { class: "strips" }, answer.element),
    h(
      "main",
      {},
      dock.element,
      h("div", { class: "splitter horizontal" }),
      h("section", { class: "run", "aria-label": "Run" }),
    ),
  );
  first.view = { source: text, model, link, panes: new Map([["memory", memory]]), opened: "" };
}

function stagePane(model: Model, stage: string, grip: HTMLElement, body: HTMLElement): HTMLElement {
  const options = model.shownAs.map(({ id, title }) => h("option", { selected: id === stage }, title));
  const element: HTMLElement = h("section", { class: "pane stage-pane" });
  const head = h(
    "header",
    { class: "pane-head" },
    grip,
    stageName(
      h("select", { class: "stage-select at-hand", "aria-label": "Stage" }, ...options),
      model.info(stage)?.title ?? stage,
    ),
    h("span", { class: "pane-tools" }, paneMenu("More ▾", h("div", {}))),
  );
  head.inert = true;
  element.append(head, h("p", { class: "pane-note" }, noteOf(model, stage)), body);
  return element;
}

/** Describe a stage and its changes. */
function noteOf(model: Model, stage: string): string {
  const before = model.info(model.against(stage, BEFORE));
  const [old, now] = [before && model.stages.get(before.id)?.lines, model.stages.get(stage)?.lines];
  const changed = before && old && now ? ` ${inWords(since(old, now), before.title)}` : "";
  return `${model.info(stage)?.explain ?? ""}${changed}`;
}

function stageText(own: readonly Line[], html: readonly string[], kind: string): HTMLElement {
  const texts = own.map(({ text }) => text);
  const rows = own.map(
    ({ src: [place] }, k): PlainLine => ({
      html: html[k] ?? "",
      margin: String(place?.[0] ?? ""),
      hue: place ? hueAt(place) : 0,
    }),
  );
  return plainStage(
    rows,
    texts,
    isFolding() ? foldsOf(own, kind) : new Map(),
    kind === "syntax" ? (line) => line : unnumbered(texts),
  );
}

/** A first visit: what a browser keeps is drawn when all of the page is there. */
function isFirst(): boolean {
  return (
    !location.hash && !Travel.kept && ["work", "layout", "used", "size.--run"].every((name) => load(name) === null)
  );
}

let coming: Promise<unknown> | null = null;

/** All of the page, which takes the place of the first view. */
const all = (): Promise<unknown> => (coming ??= import(root.dataset.main!));
const told = document.getElementById("first")?.textContent;
const given = told ? (JSON.parse(told) as First) : null;
if (given) client.know(given.known);
const drawn = given && isFirst() ? draw(given).catch(nothing) : Promise.resolve();
void drawn.then(all).catch(() => {
  root
    .querySelector(".strips, .arriving")
    ?.replaceChildren("The page's script could not be loaded. Reload to try again.");
});
