// What this browser keeps, by name: sizes of panes, the theme, and what others put there.
const PREFIX = "stridescope.";

/** Return the storage of this tab, or of the browser. */
const place = (tab: boolean): Storage => (tab ? sessionStorage : localStorage);

export function load<T>(name: string, tab = false): T | null {
  try {
    const text = place(tab).getItem(PREFIX + name);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}

export function save(name: string, value: unknown, tab = false): void {
  try {
    place(tab).setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Full or forbidden: the page works without.
  }
}

export function saveText(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // As above.
  }
}
