// What of the page is kept: in this browser, in the entries of its history, and in links.
import type { AnswerLine } from "./answer";
import * as client from "./client";
import type { Details } from "./details";
import type { Dock } from "./dock";
import { firstWords } from "./files";
import type { Header } from "./header";
import type { AnyAsked } from "./kept";
import type { Model } from "./model";
import { keepLink } from "./own_links";
import type { ExpressionBox } from "./panes/expression";
import type { ProfileBox } from "./panes/profile";
import type { RunPane } from "./panes/run";
import type { Pins } from "./pinned";
import { save } from "./storage";
import type { Said } from "./story";
import type { Texts } from "./texts";
import type { Stop, Travel } from "./travel";
import type { Work } from "./work";
import type { Workbench } from "./workbench";

/** Parts of the page with something to keep. */
export interface Keeping {
  readonly model: Model;
  readonly dock: Dock;
  readonly workbench: Workbench;
  readonly texts: Texts;
  readonly details: Details;
  readonly answer: AnswerLine;
  readonly header: Header;
  readonly runPane: RunPane;
  readonly expressions: ExpressionBox;
  readonly profile: ProfileBox;
  readonly pins: Pins;
  readonly travel: Travel;
  readonly programs: { said: Said; readonly example: string; readonly isBound: boolean; readonly inLesson: string };
  readonly started: boolean;
}

export class Keeper {
  constructor(private readonly page: Keeping) {}

  /** Return what is shown and drawn; `linked`: as far as a link holds the data for it. */
  view(linked = false): Pick<Work, "panes" | "tab" | "run"> & Record<string, unknown> {
    return {
      panes: this.page.workbench.choices(),
      tab: this.page.dock.current,
      run: this.page.runPane.settings,
      sizes: this.page.model.sizes.now,
      ...this.page.details.view(linked),
    };
  }

  /** Draw in panes what a view says; `changed`: only where that is another thing. */
  drawAs(view: object, changed = true): void {
    const { sizes } = view as { sizes?: unknown };
    if (sizes !== undefined || !changed) this.page.model.sizes.restore(sizes);
    this.page.details.drawAs(view, changed);
  }

  /** Return the state for this entry of the browser's history. */
  stop(): Stop {
    const { files, options, frozen } = this.page.model;
    const expressions = this.page.expressions.kept();
    return {
      ...files.saved(),
      options,
      example: this.page.programs.example,
      frozen: frozen?.id ?? "",
      ...this.view(),
      expressions,
      layout: this.page.dock.kept,
    };
  }

  save(): void {
    if (!this.page.started) return;
    this.page.travel.keep();
    save("layout", this.page.dock.kept);
    const { files, options, frozen } = this.page.model;
    const expressions = this.page.expressions.kept();
    if (!frozen && (!this.page.programs.isBound || this.page.programs.inLesson))
      save(this.page.programs.inLesson ? `lesson.${this.page.programs.inLesson}.work` : "work", {
        ...files.saved(),
        options,
        example: this.page.programs.example,
        ...this.view(),
        expressions,
      } satisfies Work);
  }

  /** Show what a link or this browser keeps of answers, and nothing of others. */
  answered(asked: readonly AnyAsked[]): void {
    for (const one of [this.page.expressions.share, this.page.details, this.page.profile.share, this.page.answer.share])
      one.restore(asked);
  }

  async share(said: Said): Promise<void> {
    this.page.header.sharing = true;
    const {
      now,
      files: { main, open },
    } = this.page.model;
    const pinned = await this.page.pins.shared();
    await this.page.details.settled();
    const asked = [
      ...this.page.expressions.share.asked(),
      ...this.page.details.asked(),
      ...[this.page.profile, this.page.answer].flatMap(({ share }) => share.asked()),
      ...[this.page.texts, this.page.workbench].flatMap((one) => one.shared()),
    ];
    const answer = !pinned.ok
      ? pinned
      : await client.share(now, this.page.runPane.last, asked, {
          ...this.view(true),
          ...(open === main ? {} : { open }),
          run: this.page.runPane.shown(),
          ...(pinned.a ? { a: pinned.a } : {}),
          ...(said.title ? { title: said.title } : {}),
          ...(said.notes ? { notes: said.notes } : {}),
        });
    this.page.header.sharing = false;
    if (answer.ok) {
      this.page.programs.said = said;
      keepLink(answer, said.title || firstWords(now));
      const shown = this.page.workbench.choices().map(({ stage }) => stage);
      const stages = shown.filter((stage) => this.page.model.manifest.some(({ id }) => id === stage));
      this.page.header.showLink(answer.url, said, stages);
    } else this.page.header.shareFailed(answer.error);
  }
}
