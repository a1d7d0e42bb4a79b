// The texts of stages, and what other compilers make of them: one is asked for when something shows it, and kept with
// its compilation. Those of stages that panes show come with each compilation unasked.
import * as client from "./client";
import { debounce } from "./dom";
import { PINNED, sameText, type Model, type StageState, type Text } from "./model";
import type { AnyAsked } from "./kept";
import { isTrouble } from "./trouble";
import type { Line, Problem } from "./types";
import type { PaneChoice } from "./workbench";

export class Texts {
  /** The compilation for which a listing was requested last, by its id. */
  private readonly listed = new Map<string, Text>();
  /**
   * Stages whose texts were asked for, and which compilation was the last one then: what fails is asked again
   * with another.
   */
  private readonly asked = new WeakMap<StageState, Text | null>();
  /** Stages whose texts are under way. */
  private readonly coming = new Map<StageState, Promise<void>>();
  private readonly soon = debounce(60, () => this.changed());

  constructor(
    private readonly model: Model,
    private readonly shown: () => readonly PaneChoice[],
  ) {
    for (const topic of ["stages", "status", "pinned"] as const) model.on(topic, this.soon);
  }

  /** Panes may show something else. */
  changed(): void {
    const { stages, pinned } = this.model;
    for (const { stage, compare } of this.shown()) {
      for (const id of [stage, this.model.against(stage, compare)]) {
        this.list(id);
        this.need(id, stages.get(id));
      }
      if (compare === PINNED) this.need(stage, pinned?.stages[stage]);
    }
  }

  /** All texts of compilations are wanted, in one answer for each of these. */
  whole(stages: readonly (readonly [string, StageState])[]): void {
    const left = stages.filter(([, state]) => this.isWanted(state));
    for (const of of new Set(left.map(([, state]) => state.of))) {
      const those = left.filter(([, state]) => state.of === of);
      this.begin(those, this.all(of, those));
    }
  }

  /** Return the questions about listings for a link. */
  shared(): Pick<AnyAsked, "op" | "request">[] {
    const { model } = this;
    const made = model.listings.filter(({ id }) => {
      const state = model.stages.get(id);
      return state && sameText(state.of, model.now);
    });
    return made.map(({ id }) => ({ op: "listing", request: { listing: id } }));
  }

  /** True if a text is missing and should be requested now: compilation comes first. */
  private isWanted(state: StageState): boolean {
    const { made, isCompiling } = this.model;
    return (
      state.lines === null &&
      !this.coming.has(state) &&
      !(isCompiling && !state.stale) &&
      !(this.asked.has(state) && this.asked.get(state) === made)
    );
  }

  /** The lines of a stage, when they are there; none of what is refused. */
  async lines(id: string, state: StageState): Promise<readonly Line[]> {
    this.need(id, state);
    await this.coming.get(state);
    return state.lines ?? [];
  }

  private need(id: string, state: StageState | undefined): void {
    if (state && this.isWanted(state)) this.begin([[id, state]], this.one(id, state));
  }

  private async one(id: string, state: StageState): Promise<void> {
    const answer = await client.post("text", { ...state.of, stage: id });
    if (answer.ok) Object.assign(state, answer.stage);
    this.end([[id, state]], answer.ok ? null : answer.error);
  }

  private async all(of: Text, stages: readonly (readonly [string, StageState])[]): Promise<void> {
    const failed = await client.texts(of, (made) => {
      for (const [id, state] of stages) if (made[id]) Object.assign(state, made[id]);
    });
    this.end(stages, failed?.error ?? null);
  }

  private begin(stages: readonly (readonly [string, StageState])[], done: Promise<void>): void {
    for (const [id, state] of stages) {
      this.asked.set(state, this.model.made);
      this.coming.set(state, done);
      if (this.model.refused.has(id)) this.model.setRefused(id, null);
    }
  }

  private end(stages: readonly (readonly [string, StageState])[], error: Problem | null): void {
    const { model } = this;
    for (const [id, state] of stages) {
      this.coming.delete(state);
      if (error && model.stages.get(id) === state) model.setRefused(id, error);
    }
    if (error && isTrouble(error)) model.setTrouble(error);
    model.emit("stages");
  }

  private list(id: string): void {
    const { made, frozen, listings } = this.model;
    if (!made || frozen || this.listed.get(id) === made || !listings.some((one) => one.id === id)) return;
    this.listed.set(id, made);
    void this.listing(id, made);
  }

  private async listing(id: string, of: Text): Promise<void> {
    const { model } = this;
    model.setRefused(id, null);
    const answer = await client.post("listing", { ...of, listing: id });
    if (this.listed.get(id) !== of || model.made !== of) return;
    if (answer.ok) model.setStages({ [id]: answer.stage }, of);
    model.setRefused(id, answer.ok ? null : answer.error);
  }
}
