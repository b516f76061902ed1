/** What every page has: the head, the top bar, the way to its content. */

import type { ComponentChildren, VNode } from "preact";

/** What the frame of a page has to know. */
export interface Frame {
  /** What the console is called. */
  readonly title: string;
  /** The page itself, from the mount point on: what a fragment alone would lose to the base. */
  readonly self: string;
  /** The way to the mount point. */
  readonly base: string;
  readonly assets: string;
  /** Seconds between two refreshes, unless the viewer has picked. */
  readonly pollInterval: number;
  readonly readOnly: boolean;
}

interface PageProps extends Frame {
  /** What the page is about, for the window's title. */
  readonly heading: string;
  readonly screen: "map" | "executions" | "execution" | "doctor" | "bulk" | "confirm" | "error";
  /** What the page's script starts with: the same data as it was rendered from. */
  readonly data?: unknown;
  readonly children: ComponentChildren;
}

const INTERVALS: readonly (readonly [number, string])[] = [
  [0, "Paused"],
  [2, "2 s"],
  [5, "5 s"],
  [15, "15 s"],
  [60, "60 s"],
];

/** A whole page. */
export function Page(props: PageProps): VNode {
  const { title, base, assets, heading, screen, data, children } = props;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <base href={base} />
        <title>{`${heading} · ${title}`}</title>
        <link rel="icon" href={`${assets}icon.svg`} type="image/svg+xml" />
        <link rel="stylesheet" href={`${assets}console.css`} />
        <script src={`${assets}theme.js`} />
        <script type="module" src={`${assets}console.js`} />
      </head>
      <body data-screen={screen} data-interval={String(props.pollInterval)}>
        <a class="sr skip" href={`${props.self}#main`}>To the content</a>
        <TopBar {...props} />
        <main id="main" tabindex={-1} data-state={data === undefined ? undefined : JSON.stringify(data)}>
          {children}
        </main>
        <footer>
          <span class="keys">
            <kbd>/</kbd> filter
          </span>
          <span class="keys">
            <kbd>g</kbd> <kbd>m</kbd> map
          </span>
          <span class="keys">
            <kbd>g</kbd> <kbd>e</kbd> executions
          </span>
          <span class="keys">
            <kbd>?</kbd> keys
          </span>
          <a href="doctor">Doctor</a>
        </footer>
      </body>
    </html>
  );
}

function TopBar({ title, screen, readOnly, pollInterval }: PageProps): VNode {
  const current = (name: string) => screen === name ? "page" : undefined;
  return (
    <header class="bar">
      <strong>{title}</strong>
      <nav aria-label="Screens">
        <a href="./" aria-current={current("map")}>Map</a>
        <a href="executions" aria-current={current("executions")}>Executions</a>
      </nav>
      {readOnly ? <span class="quiet">Read only</span> : null}
      <div class="pickers">
        <label hidden data-live>
          <span>Live</span>
          <select name="interval">
            {INTERVALS.map(([seconds, word]) => (
              <option key={seconds} value={seconds} selected={seconds === pollInterval}>{word}</option>
            ))}
          </select>
        </label>
        <label hidden data-theme-picker>
          <span>Theme</span>
          <select name="theme">
            <option value="">System</option>
            <option value="light">Light</option>
            <option value="dark">Dark</option>
          </select>
        </label>
      </div>
    </header>
  );
}

/** A page that says one thing: that something is not there, or may not be. */
export function Message({ heading, text, back }: {
  readonly heading: string;
  readonly text: string;
  readonly back?: { readonly href: string; readonly word: string };
}): VNode {
  return (
    <div class="head">
      <h1>{heading}</h1>
      <p>{text}</p>
      {back === undefined ? null : (
        <p>
          <a href={back.href}>{back.word}</a>
        </p>
      )}
    </div>
  );
}
