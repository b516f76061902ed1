/** What the viewer has picked, kept in the browser; without storage it lasts as long as the page. */

const PREFIX = "leveret.";

/** What was kept, or null. */
export function kept(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null; // no storage: nothing is kept
  }
}

/** Keeps a choice; an empty one is forgotten. */
export function keep(name: string, value: string): void {
  try {
    if (value === "") localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // No storage: it holds for this page.
  }
}
