// What the page knows of a pane of the details, and what such a pane knows of the page. Each is one file of this
// folder, which exports a `pane`: build.mjs finds it there.
import type { ShowMarks } from "../access_marks";
import type { AnyAsked } from "../kept";
import type { Link } from "../link";
import type { Model } from "../model";
import type { Pins } from "../pinned";
import type { Attempts } from "../proof/attempts";
import type { Texts } from "../texts";
import type { LessonAnswer, Options, Span } from "../types";
import type { RunPane } from "./run";

/** What a pane may read of the page, and do to it. */
export interface Desk {
  readonly model: Model;
  readonly link: Link;
  readonly texts: Texts;
  /** The attempts to build arrays in place, and who shows them. */
  readonly attempts: Attempts;
  /** The compilation that is compared with. */
  readonly pins: Pins;
  /** What is chosen to be run. */
  readonly run: Pick<RunPane, "request" | "measured" | "target">;
  /** Open a pane of the details, by its id. */
  show(pane: string): void;
  /** Open a stage, with a way back by the browser's Back; `turnTo`: without. */
  open(stage: string): void;
  turnTo(stage: string): void;
  /** Show a place of the source. */
  goTo(span: Span): void;
  /** Show the next or previous place of the current pane that comes from what is selected. */
  occurrence(by: number): void;
  /** Change options; what is undefined is left out from here on. */
  options(options: { [K in keyof Options]?: Options[K] | undefined }): void;
  /** Mark accesses in the source. */
  mark: ShowMarks;
  /** Show A's text beside the source. */
  beside(): void;
  /** What is drawn has changed: it is to be kept. */
  changed(): void;
}

export interface Pane {
  readonly element: HTMLElement;
  /** Ask about the program and draw the answers, from here on or not any more: who is not seen asks nothing. */
  show?(visible: boolean): void;
  readonly keep?: Keep;
  readonly share?: Share;
  /** Draw what a step of a story or lesson is about: an array at a stage, or all. */
  look?(stage: string, object: string): void;
  /** Take a lesson's array and sizes, until others are chosen. */
  suppose?(lesson: Pick<LessonAnswer, "object" | "sizes">): void;
}

/** What a pane draws, so that a reload, Back, a link and a follower draw the same. */
export interface Keep {
  /** The field of a view that has it; links of any age may. */
  readonly field: string;
  now(): unknown;
  /** The same for a link, where that is not all of it. */
  linked?(): unknown;
  /** Draw what `now` gave once; undefined where nobody kept it. */
  as(kept: unknown): void;
}

/** What a pane was answered, so that a link holds it. */
export interface Share {
  /** What was asked, if that is of the program as it is. */
  asked(): Pick<AnyAsked, "op" | "request">[];
  /** Show what a link holds of it; of no link, nothing. */
  restore(asked: readonly AnyAsked[]): void;
}

/** A pane before there is a page. */
export interface PaneKind {
  /** Its name in layouts, lessons and links. */
  readonly id: string;
  readonly title: string;
  /** What it tells, in words that one may look for. */
  readonly about: string;
  /** Its place among the tabs. */
  readonly order: number;
  /** What kind of thing it tells: panes of a kind stand together. */
  readonly group: "Memory" | "Cost" | "Why" | "Compare" | "Run";
  make(desk: Desk): Pane;
}
