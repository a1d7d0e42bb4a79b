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

/** A pane's interface to the page. */
export interface Desk {
  readonly model: Model;
  readonly link: Link;
  readonly texts: Texts;
  /** The attempts to build arrays in place, and who shows them. */
  readonly attempts: Attempts;
  /** The compilation that is compared with. */
  readonly pins: Pins;
  /** The settings of the run. */
  readonly run: Pick<RunPane, "request" | "measured" | "target">;
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
  /** Called when the drawing has changed and has to be stored. */
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

/** The state of a pane's drawing, which a reload, Back, a link and a follower restore. */
export interface Keep {
  now(): unknown;
  /** The same for a link, where that is not all of it. */
  linked?(): unknown;
  /** Draw what `now` gave once; undefined where nobody kept it. */
  as(kept: unknown): void;
}

/** A pane's answers, for links. */
export interface Share {
  /** Return the questions, if they are about the current program. */
  asked(): Pick<AnyAsked, "op" | "request">[];
  /** Show what a link holds of it; of no link, nothing. */
  restore(asked: readonly AnyAsked[]): void;
}

/** A pane before there is a page. */
export interface PaneKind {
  /** Its name in layouts, lessons and links. */
  readonly id: string;
  readonly title: string;
  /** Words for the search that describe it. */
  readonly about: string;
  /** Its place among the tabs. */
  readonly order: number;
  /** Its kind: panes of a kind stand together. */
  readonly group: "Memory" | "Cost" | "Why" | "Compare" | "Run";
  /** The field of a view that has its `keep`; links of any age may. */
  readonly keeps?: string;
  /** The operations whose answers in a link its `share` shows. */
  readonly answers?: readonly AnyAsked["op"][];
  make(desk: Desk): Pane;
}

/** A pane whose code may not be there yet; `keeps` is "" for none. */
export type KnownKind = Omit<Required<PaneKind>, "order" | "make">;
