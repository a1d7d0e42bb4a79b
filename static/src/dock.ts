// The panes on the screen: columns of groups with tabs, moved by drag or by keyboard, sized by bars between them.
import { announce, h, replace, zoomOf } from "./dom";
import {
  completed,
  fitted,
  isFilm,
  groupOf,
  isDetail,
  isStage,
  layoutIn,
  LOW,
  NARROW,
  panesOf,
  placed,
  PRESETS,
  roomy,
  stacked,
  stepped,
  without,
  type Group,
  type Layout,
  type Preset,
  type Side,
} from "./layouts";
import { choices, paneMenu } from "./menus";
import { splitter } from "./splitter";
import { taking, type Taken } from "./take";

export interface Docked {
  id: string;
  title: string | (() => string);
  /** Its kind: panes of a kind are offered together. */
  group?: string;
  content: HTMLElement;
  /** Its content for a file, where the page draws only a part of it. */
  taken?: () => Pick<Taken, "text" | "data">;
  /** Called when it is shown and when it is hidden. */
  show?: (visible: boolean) => void;
}

export interface DockEvents {
  /** Panes were opened or sized. */
  changed(): void;
  opened(id: string): void;
  /** Before panes change places: there is a way back. */
  leave(go: () => void): void;
}

const BELOW_EACH_OTHER = window.matchMedia("(max-width: 860px)"); // as in layout.css
const FAR = 6; // pixels that a pointer moves before it drags
const EDGE = 0.25;
const AROUND = 32; // pixels
const ARROWS: Record<string, Exclude<Side, "tab">> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "above",
  ArrowDown: "below",
};

export class Dock {
  readonly element = h("div", { class: "work" });
  private readonly panes = new Map<string, Docked & { panel: HTMLElement }>();
  /** The reader's, perhaps with panes that are closed now; null for the standard one. */
  private own: Layout | null = null;
  private shown: Layout = [];
  private shape = "";
  /** Panes whose tabs were opened, the last one first. */
  private opened: string[] = [];
  private visible = new Set<string>();
  private isWide = false;
  /** Width and height, which are measured when they change. */
  private size: readonly [number, number] = [0, 0];
  private readonly widen = h(
    "button",
    {
      class: "widen",
      title: "Give the details the room of the stages",
      "aria-pressed": "false",
      onclick: () => (this.wide = !this.isWide),
    },
    "⇔ Wide details",
  );

  constructor(private readonly events: DockEvents) {
    new ResizeObserver(() => {
      this.size = [this.element.clientWidth, this.element.clientHeight];
      this.draw();
    }).observe(this.element);
    BELOW_EACH_OTHER.addEventListener("change", () => this.draw());
    this.element.addEventListener("keydown", (event) => this.keys(event));
    this.element.addEventListener("pointerdown", (event) => this.grab(event));
    this.element.addEventListener("focusin", () => this.use(this.focused()));
  }

  add(...panes: Docked[]): void {
    for (const pane of panes) {
      this.panes.set(pane.id, {
        ...pane,
        panel: h(
          "div",
          {
            role: "tabpanel",
            id: `panel-${pane.id}`,
            "aria-labelledby": `tab-${pane.id}`,
            class: "panel",
            ...(isDetail(pane.id) ? { tabindex: 0 } : {}),
          },
          isDetail(pane.id) ? pane.content : null,
        ),
      });
    }
    this.draw();
  }

  /** Put a pane of the details where its place was held. */
  fill(id: string, content: HTMLElement): void {
    const pane = this.panes.get(id)!;
    pane.panel.replaceChildren(content);
    pane.content = content;
  }

  remove(id: string): void {
    this.panes.delete(id);
    this.draw();
  }

  /** Open a pane's tab. */
  open(id: string, byUser = true): void {
    if (!this.panes.has(id)) return;
    if (isStage(id)) this.wide = false;
    const before = this.opened[0];
    this.use(id);
    this.draw();
    this.events.opened(id);
    if (byUser && before !== id) this.events.changed();
  }

  /** Open a pane's tab, and focus it. */
  enter(id: string): void {
    this.open(id);
    const tab = this.element.querySelector<HTMLElement>(`#tab-${id}`);
    tab?.focus();
    if (tab && document.activeElement !== tab) this.focusKind(tab);
  }

  /** A pane that is the only one of its kind has that for its tab. */
  private focusKind(tab: HTMLElement): void {
    tab.closest(".tabs-bar")?.querySelector<HTMLElement>(".kinds [aria-pressed='true']")?.focus();
  }

  private use(id: string): void {
    if (this.panes.has(id)) this.opened = [id, ...this.opened.filter((other) => other !== id)];
  }

  /** The details that were opened last. */
  get current(): string {
    return this.opened.find(isDetail) ?? [...this.panes.keys()].find(isDetail) ?? "";
  }

  /** The width for columns, without the margins around three of them. */
  private get width(): number {
    return (this.size[0] || window.innerWidth) - AROUND;
  }

  /** Ids and titles of the details. */
  get details(): [string, string][] {
    return [...this.panes.values()].filter(({ id }) => isDetail(id)).map((pane) => [pane.id, titleOf(pane)]);
  }

  /** Ids of panes in the order in which they stand. */
  get order(): string[] {
    return panesOf(this.layout);
  }

  get layout(): Layout {
    const panes = [...this.panes.keys()];
    if (this.own) return completed(this.own, panes);
    return completed(PRESETS[0]!.layout(panes.filter(isStage), panes.filter(isDetail), this.width), panes);
  }

  /** The layout to store; null if it is the standard one. */
  get kept(): Layout | null {
    return (
      this.own?.map((one) => ({ ...one, groups: one.groups.map((its) => ({ ...its, open: this.front(its) })) })) ?? null
    );
  }

  restore(kept: unknown): void {
    this.own = layoutIn(kept);
    const fronts = this.own?.flatMap(({ groups }) => groups.map(({ open }) => open)) ?? [];
    this.opened = [...new Set([...fronts, ...this.opened])];
    this.draw();
  }

  arrange(preset: Preset): void {
    const panes = [...this.panes.keys()];
    this.own = preset === PRESETS[0] ? null : preset.layout(panes.filter(isStage), panes.filter(isDetail), this.width);
    this.isWide = false;
    if (preset.tab) this.open(preset.tab);
    this.draw();
    this.events.changed();
  }

  /** The pane that was used last. */
  get last(): string {
    return this.opened.find((id) => this.visible.has(id)) ?? panesOf(this.shown)[0] ?? "";
  }

  get lastTitle(): string {
    const pane = this.panes.get(this.last);
    return pane ? titleOf(pane) : "";
  }

  set wide(wide: boolean) {
    if (wide === this.isWide) return;
    this.isWide = wide;
    this.widen.setAttribute("aria-pressed", String(wide));
    this.draw();
  }

  /** Draw titles anew, which change with what panes show. */
  retitle(): void {
    for (const [id, pane] of this.panes) {
      const tab = this.element.querySelector(`#tab-${id}`);
      if (tab) tab.textContent = titleOf(pane);
    }
  }

  /** Move a pane (the one with the focus) one step to a side. */
  step(to: Exclude<Side, "tab">, id = this.focused()): void {
    if (!id || this.stacked) return;
    const next = stepped(this.shown, id, to);
    // Where there is no room for one more column, the step goes into the next one.
    this.move(shapeOf(this.fit(next)) === shapeOf(this.shown) ? stepped(next, id, to) : next, id);
  }

  /** A handle that drags a pane, or moves it by the arrow keys. */
  grip(id: string): HTMLElement {
    const grip = h(
      "button",
      {
        class: "icon grip",
        "data-grip": id,
        "aria-label": "Move this pane",
        title: "Drag this pane, or move it with the arrow keys",
      },
      "⠿",
    );
    grip.addEventListener("keydown", (event) => {
      const to = ARROWS[event.key];
      if (!to || event.altKey) return;
      event.preventDefault();
      this.step(to, id);
    });
    return grip;
  }

  /** True if stages stand beside each other in a strip that rolls sideways. */
  get isFilm(): boolean {
    return this.own !== null && !this.stacked && isFilm(this.own);
  }

  private get stacked(): boolean {
    return BELOW_EACH_OTHER.matches;
  }

  private fit(layout: Layout): Layout {
    return isFilm(layout) ? layout : fitted(roomy(layout, this.width), this.width, this.size[1]);
  }

  private move(wanted: Layout, id: string): void {
    const layout = this.fit(wanted);
    if (shapeOf(layout) === shapeOf(this.shown)) return;
    this.events.leave(() => {
      this.own = layout;
      this.isWide = false;
      this.open(id);
      const [at, of] = [
        layout.findIndex(({ groups }) => groups.some(({ panes }) => panes.includes(id))) + 1,
        layout.length,
      ];
      const tabs = groupOf(layout, id)!.panes.length;
      announce(
        `${titleOf(this.panes.get(id)!)} is in column ${at} of ${of}${tabs > 1 ? `, one of ${tabs} tabs` : ""}.`,
      );
      this.events.changed();
    });
  }

  private front({ panes, open }: Group): string {
    return this.opened.find((id) => panes.includes(id)) ?? open;
  }

  private draw(): void {
    if (!this.size[0]) this.size = [this.element.clientWidth, this.element.clientHeight];
    if (!this.panes.size || !this.size[0]) return;
    const layout = this.isWide ? widened(this.layout) : this.layout;
    const film = this.isFilm && !this.isWide;
    this.element.classList.toggle("film", film);
    this.shown = this.stacked ? stacked(layout) : film ? layout : fitted(layout, this.width, this.size[1]);
    const shape = shapeOf(this.shown);
    if (shape !== this.shape) this.build();
    this.shape = shape;
    this.sizes();
    const visible = new Set<string>();
    for (const { groups } of this.shown) {
      for (const its of groups) {
        const open = this.front(its);
        visible.add(open);
        if (its.panes.length > 1 || isDetail(open)) for (const id of its.panes) this.tell(id, id === open);
      }
    }
    for (const list of this.element.querySelectorAll<HTMLElement>(".tabs")) {
      this.ofKind(list);
      this.offer(list, list.nextElementSibling as HTMLSelectElement);
    }
    const before = this.visible;
    this.visible = visible;
    for (const [id, { show }] of this.panes) if (visible.has(id) !== before.has(id)) show?.(visible.has(id));
  }

  private tell(id: string, open: boolean): void {
    const tab = this.element.querySelector<HTMLElement>(`#tab-${id}`)!;
    tab.setAttribute("aria-selected", String(open));
    tab.tabIndex = open ? 0 : -1;
    this.panes.get(id)!.panel.hidden = !open;
  }

  /** Only the tabs of the open one's kind are seen, where there are several kinds. */
  private ofKind(list: HTMLElement): void {
    const bar = list.closest(".tabs-bar")!;
    const kinds = [...bar.querySelectorAll<HTMLElement>("[data-kind]")];
    const tabs = [...list.children] as HTMLElement[];
    const open = tabs.find((tab) => tab.getAttribute("aria-selected") === "true");
    const kind = open && kindOf(this.panes.get(open.dataset.tab!)!);
    for (const one of kinds) one.setAttribute("aria-pressed", String(one.dataset.kind === kind));
    const seen = tabs.filter((tab) => !kinds.length || kindOf(this.panes.get(tab.dataset.tab!)!) === kind);
    for (const tab of tabs) tab.hidden = !seen.includes(tab);
    bar.querySelector<HTMLElement>(".tabs-row")!.classList.toggle("alone", kinds.length > 0 && seen.length < 2);
  }

  /** The kinds of a group's panes, where there are several; each leads to the pane of it that was opened last. */
  private kinds(panes: readonly Docked[]): HTMLElement | null {
    const names = [...new Set(panes.map(kindOf))];
    if (names.length < 2 || names.length === panes.length) return null;
    const last = (name: string): string => {
      const its = panes.filter((pane) => kindOf(pane) === name).map(({ id }) => id);
      return this.opened.find((id) => its.includes(id)) ?? its[0]!;
    };
    return h(
      "div",
      { class: "kinds", role: "group", "aria-label": "Kinds of panes" },
      ...names.map((name) => h("button", { "data-kind": name, onclick: () => this.open(last(name)) }, name)),
    );
  }

  /** The open tab and as many others as there is room for, in order; a menu names those that are out of sight. */
  private offer(list: HTMLElement, more: HTMLSelectElement): void {
    const tabs = ([...list.children] as HTMLElement[]).filter((tab) => !tab.hidden);
    const width = (some: readonly HTMLElement[]): number => some.reduce((sum, { offsetWidth }) => sum + offsetWidth, 0);
    // What hides it must not narrow the strip.
    more.hidden = width(tabs) <= list.clientWidth + more.offsetWidth;
    const open = tabs.filter((tab) => tab.getAttribute("aria-selected") === "true");
    let left = more.hidden ? Infinity : list.clientWidth - width(open);
    const out = tabs.filter((tab) => !open.includes(tab) && (left -= tab.offsetWidth) < 0);
    for (const tab of tabs) tab.classList.toggle("out", out.includes(tab));
    list.scrollLeft = 0;
    if (out.length) {
      replace(
        more,
        h("option", { value: "", hidden: true, selected: true }, `${out.length} more`),
        ...out.map((tab) => h("option", { value: tab.dataset.tab }, tab.textContent)),
      );
    }
  }

  // --- elements --------------------------------------------------------------------------------

  /** Put the panes into their columns; what has the focus keeps it, and what was scrolled stays so. */
  private build(): void {
    const focused = document.activeElement as HTMLElement | null;
    const scrolled = [...this.element.querySelectorAll(".cm-scroller, .panel")].map(
      (one) => [one, one.scrollTop, one.scrollLeft] as const,
    );
    replace(
      this.element,
      ...this.shown.flatMap(({ groups }, at) => [
        at ? this.bar(true, at) : null,
        h(
          "div",
          { class: "column" },
          ...groups.flatMap((its, number) => [number ? this.bar(false, number, at) : null, this.group(its)]),
        ),
      ]),
    );
    for (const [one, top, left] of scrolled) {
      one.scrollTop = top;
      one.scrollLeft = left;
    }
    // Tabs are made anew.
    const again = focused?.dataset.tab ? this.element.querySelector<HTMLElement>(`#${focused.id}`) : focused;
    if (again && again !== document.activeElement && this.element.contains(again)) again.focus({ preventScroll: true });
    if (again?.dataset.tab && again !== document.activeElement) this.focusKind(again);
  }

  private group(its: Group): HTMLElement {
    const panes = its.panes.map((id) => this.panes.get(id)!);
    if (panes.length === 1 && !isDetail(its.panes[0]!)) {
      panes[0]!.content.dataset.group = its.panes[0]!;
      return panes[0]!.content;
    }
    const details = its.panes.filter(isDetail);
    const all = [...this.panes.keys()].filter(isDetail);
    const label =
      details.length === all.length && details.length === panes.length ? "Details" : panes.map(titleOf).join(", ");
    const list = h(
      "div",
      { class: "tabs", role: "tablist", "aria-label": label },
      ...panes.map((pane) =>
        h(
          "button",
          {
            role: "tab",
            id: `tab-${pane.id}`,
            "aria-controls": `panel-${pane.id}`,
            "data-tab": pane.id,
            onclick: () => this.open(pane.id),
          },
          titleOf(pane),
        ),
      ),
    );
    list.addEventListener("keydown", (event) => this.tabKeys(event, its));
    const more = h("select", { class: "more-tabs", "aria-label": "More panes", onchange: () => this.open(more.value) });
    for (const pane of panes)
      if (!isDetail(pane.id)) {
        delete pane.content.dataset.group;
        pane.panel.append(pane.content);
      }
    const first = panesOf(this.shown).find(isDetail);
    return h(
      "section",
      { class: `pane group${details.length ? " side" : ""}`, "aria-label": label, "data-group": its.panes[0] },
      h(
        "div",
        { class: "tabs-bar" },
        this.kinds(panes),
        h("div", { class: "tabs-row" }, list, more),
        h(
          "span",
          { class: "pane-tools" },
          paneMenu(
            "More ▾",
            choices(
              first && its.panes.includes(first) ? this.widen : null,
              taking(() => this.taken(this.front(its))),
            ),
            "More of these panes",
          ),
        ),
      ),
      ...panes.map(({ panel }) => panel),
    );
  }

  private taken(id: string): Taken {
    const pane = this.panes.get(id)!;
    return { title: titleOf(pane), element: pane.content, ...pane.taken?.() };
  }

  private sizes(): void {
    const columns = this.element.querySelectorAll<HTMLElement>(":scope > .column");
    this.shown.forEach(({ size, groups }, at) => {
      columns[at]!.style.flexGrow = String(size);
      const elements = [...columns[at]!.children].filter(
        (one): one is HTMLElement => !one.classList.contains("splitter"),
      );
      for (const [number, its] of groups.entries()) elements[number]!.style.flexGrow = String(its.size);
    });
  }

  /** A bar between two columns, or two groups of a column; it sizes what is before it. */
  private bar(vertical: boolean, at: number, within = 0): HTMLElement {
    const list = (): { size: number }[] => (vertical ? this.shown : this.shown[within]!.groups);
    const length = (element: Element | null): number =>
      vertical ? (element as HTMLElement).offsetWidth : (element as HTMLElement).offsetHeight;
    const both = (): number => length(bar.previousElementSibling) + length(bar.nextElementSibling);
    const one = vertical ? this.shown[at - 1]!.groups[0]! : this.shown[within]!.groups[at - 1]!;
    const least = vertical ? NARROW : LOW;
    const bar: HTMLElement = splitter({
      label: `${vertical ? "Width" : "Height"} of ${titleOf(this.panes.get(one.panes[0]!)!)}`,
      vertical,
      least,
      before: true,
      most: () => Math.max(least, both() - least),
      size: () => length(bar.previousElementSibling),
      set: (px) => {
        const [before, after] = [list()[at - 1]!, list()[at]!];
        const sum = before.size + after.size;
        before.size = Math.max(0.01, (sum * px) / both());
        after.size = sum - before.size;
        this.own = this.shown;
        this.sizes();
        this.events.changed();
      },
    });
    return bar;
  }

  // --- by keyboard and by drag -------------------------------------------------------------------

  private focused(): string {
    const panel = document.activeElement?.closest("[data-group], .panel, [data-tab]") as HTMLElement | null;
    // Of a group, beside its tabs, the pane whose tab is open.
    const its = groupOf(this.shown, panel?.dataset.group ?? "");
    return panel?.dataset.tab ?? (panel?.id.startsWith("panel-") ? panel.id.slice(6) : its ? this.front(its) : "");
  }

  private keys(event: KeyboardEvent): void {
    const to = ARROWS[event.key];
    if (!to || !event.altKey || !event.ctrlKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.step(to);
  }

  private tabKeys(event: KeyboardEvent, { panes }: Group): void {
    const at = panes.indexOf((event.target as HTMLElement).dataset.tab ?? "");
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: panes.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey) return;
    const next = panes[(to + panes.length) % panes.length]!;
    this.enter(next);
    event.preventDefault();
  }

  private grab(down: PointerEvent): void {
    const target = down.target as Element;
    const handle =
      target.closest<HTMLElement>("[data-tab], [data-grip]") ??
      (target.closest("select, input, button, label") ? null : target.closest<HTMLElement>(".pane-head"));
    if (!handle || down.button || this.stacked || this.isWide) return;
    const id =
      handle.dataset.tab ?? handle.dataset.grip ?? handle.querySelector<HTMLElement>("[data-grip]")?.dataset.grip;
    if (!id || !this.panes.has(id)) return;
    const shadow = h("div", { class: "drop", hidden: true });
    const stop = new AbortController();
    const { signal } = stop;
    let landing: [Side, string] | null = null;
    const end = (): void => {
      stop.abort();
      shadow.remove();
      this.element.classList.remove("dragging");
    };
    window.addEventListener(
      "pointermove",
      (event) => {
        if (!shadow.isConnected && Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < FAR) return;
        if (!shadow.isConnected) this.element.append(shadow);
        this.element.classList.add("dragging");
        landing = this.landing(event, shadow);
      },
      { signal },
    );
    window.addEventListener(
      "pointerup",
      () => {
        end();
        if (landing) this.move(placed(this.shown, id, ...landing), id);
      },
      { signal },
    );
    window.addEventListener("pointercancel", end, { signal });
    window.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Escape" || !shadow.isConnected) return;
        event.stopPropagation();
        end();
      },
      { signal, capture: true },
    );
  }

  /** Where a pane would come to stand if it were let go here; the shadow shows it. */
  private landing({ clientX, clientY }: PointerEvent, shadow: HTMLElement): [Side, string] | null {
    const over = document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>("[data-group]");
    shadow.hidden = !over;
    if (!over) return null;
    const { left, top, width, height } = over.getBoundingClientRect();
    const [x, y] = [(clientX - left) / width, (clientY - top) / height];
    const near = (
      [
        ["left", x],
        ["right", 1 - x],
        ["above", y],
        ["below", 1 - y],
      ] as [Side, number][]
    ).sort((a, b) => a[1] - b[1])[0]!;
    const onTabs = clientY - top < (over.querySelector<HTMLElement>(":scope > .tabs-bar")?.offsetHeight ?? 0);
    const side: Side = near[1] < EDGE && !onTabs ? near[0] : "tab";
    const box = this.element.getBoundingClientRect();
    const part = {
      left: [left, top, width / 2, height],
      right: [left + width / 2, top, width / 2, height],
      above: [left, top, width, height / 2],
      below: [left, top + height / 2, width, height / 2],
      tab: [left, top, width, height],
    }[side];
    for (const [k, name] of (["left", "top", "width", "height"] as const).entries()) {
      shadow.style[name] =
        `${(part[k]! - (name === "left" ? box.left : name === "top" ? box.top : 0)) / zoomOf(over)}px`;
    }
    return [side, over.dataset.group!];
  }
}

const kindOf = ({ id, group }: Docked): string => group ?? (isStage(id) ? "Stages" : "Source");

const titleOf = ({ title }: Docked): string => (typeof title === "string" ? title : title());

/** Without stages, whose room the details have. */
function widened(layout: Layout): Layout {
  const left = without(layout, isStage);
  const room = (of: Layout): number => of.reduce((sum, { size }) => sum + size, 0);
  const first = left.find((one) => panesOf([one]).some(isDetail));
  return left.map((one) => (one === first ? { ...one, size: one.size + room(layout) - room(left) } : one));
}

const shapeOf = (layout: Layout): string =>
  JSON.stringify(layout.map(({ groups }) => groups.map(({ panes }) => panes)));
