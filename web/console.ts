/** The console as a Hono app: finds out where it is, lets in who may, and hands over to its screens. */

import { Hono } from "hono";
import type { AnyDefinition } from "../src/definition/inference.ts";
import type { Engine } from "../src/engine/engine.ts";
import { type Access, accessOf } from "./access.ts";
import { goTo, problem, statusOf } from "./answer.ts";
import { assetServer } from "./asset_files.ts";
import { refusalOfUnsafe } from "./guard.ts";
import { errorPage } from "./error_page.tsx";
import { type ConsoleOptions, type ConsoleSettings, consoleSettings, queriesOf } from "./options.ts";
import { ownPath } from "./place.ts";
import { routes } from "./routes.tsx";

/** What the routes know of a request beside itself. */
export interface Visit {
  readonly path: string;
  readonly base: string;
  readonly access: Access;
}

/** A Hono app: mount it with `route()`, or serve its `fetch`. */
export type ConsoleApp = Hono;

/**
 * The console for the engineer on call, to be mounted in a server of one's own. It reads through `store.queries` and
 * acts by the engine's operations; it keeps nothing. It has no login: say in `authorize` who may read and act. Without,
 * it can be read from this machine, and nothing can be done.
 *
 * @example
 * ```ts
 * import { Engine, saga } from "@leveret/saga";
 * import { memoryStore } from "@leveret/saga/memory";
 * import { webConsole } from "@leveret/saga/web";
 * import assert from "node:assert/strict";
 *
 * const greet = saga<{ name: string }>("greet").step("say", ({ context }) => ({ text: `Hello, ${context.name}` }));
 * const engine = new Engine({ store: memoryStore(), definitions: [greet] });
 * const app = webConsole(engine, { authorize: (request) => request.headers.get("x-role") === "on-call" });
 * assert.equal((await app.request("/", { headers: { "x-role": "on-call" } })).status, 200);
 * assert.equal((await app.request("/")).status, 403);
 * await engine.close();
 * ```
 *
 * @throws {SagaError} `invalid_options`, also if the engine's store answers no queries
 */
export function webConsole<const D extends readonly AnyDefinition[]>(
  engine: Engine<D>,
  options: ConsoleOptions = {},
): ConsoleApp {
  const settings = consoleSettings(options);
  const queries = queriesOf(engine);
  const assets = assetServer();
  const screens = routes(engine as unknown as Engine, queries, settings);

  return new Hono().all("/*", async (context) => {
    const request = context.req.raw;
    const isSafe = request.method === "GET" || request.method === "HEAD";
    const refusal = isSafe ? null : refusalOfUnsafe(request, settings.origins);
    if (refusal !== null) return await problem(request, refusal.status, refusal.message);
    const { path, base, redirect } = ownPath(context, settings.basePath);
    const refuse = (status: number, message: string) => refused({ request, path, base, status, message, settings });
    try {
      const access = await accessOf(request, settings, context.env);
      // The same for what there is and for what there is not.
      if (!access.read) return await refuse(403, "You may not read this");
      if (redirect !== null) return goTo(redirect + new URL(request.url).search);
      const asset = isSafe ? /^\/assets\/([^/]+)\/([^/]+)$/.exec(path) : null;
      if (asset !== null) return assets(request, asset[1]!, asset[2]!);
      return await screens.fetch(request, { visit: { path, base, access } });
    } catch (error) {
      const status = statusOf(error);
      // What somebody mistyped is no trouble of the server's.
      const isTheirs = status !== null && status < 500;
      settings.logger[isTheirs ? "debug" : "error"](
        `The console could not answer ${request.method} ${context.req.path}: ${error}`,
      );
      return await refuse(status ?? 500, status === null ? "Something went wrong" : (error as Error).message);
    }
  });
}

interface Refused {
  readonly request: Request;
  readonly path: string;
  readonly base: string;
  readonly status: number;
  readonly message: string;
  readonly settings: ConsoleSettings;
}

/** A page for people, data for programs; nothing is looked up for it. */
function refused({ request, path, base, status, message, settings }: Refused): Promise<Response> {
  const isPage = request.method === "GET" && !path.startsWith("/api/") &&
    request.headers.get("accept")?.includes("text/html") === true;
  return isPage ? errorPage(request, { base, status, message, settings }) : problem(request, status, message);
}
