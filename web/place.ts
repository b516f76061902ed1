/** Where the console is: the part of a path that is its own, and the way from a page back to the mount point. */

import type { Context } from "hono";
import { routePath } from "hono/route";

/** A request's path, taken apart. */
export interface OwnPath {
  /** Within the console, from a slash on, without one at the end. */
  readonly path: string;
  /** What `<base href>` says, so that every other reference can be relative to the mount point. */
  readonly base: string;
  /** Where to go instead: the mount point without its slash cannot be a base. */
  readonly redirect: string | null;
}

/**
 * Only the depth of the own path counts, so it works below any prefix, also one that a proxy takes away. What cannot be
 * seen is whether the mount point itself was asked for with its slash once the prefix is gone: that is what `basePath`
 * is for.
 */
export function ownPath(context: Context, basePath: string | null): OwnPath {
  const mounted = routePath(context).split("/").filter((part) => part !== "" && part !== "*").length;
  const segments = context.req.path.split("/").slice(1);
  const own = segments.slice(mounted);
  const path = `/${own.join("/")}`.replace(/(?<=.)\/+$/, "");
  if (basePath !== null) return { path, base: `${basePath}/`, redirect: null };
  const last = segments.at(-1) ?? "";
  if (own.length === 0) return { path: "/", base: "", redirect: `${last}/` };
  return { path, base: own.length === 1 ? "./" : "../".repeat(own.length - 1), redirect: null };
}
