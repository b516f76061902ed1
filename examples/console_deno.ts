/**
 * The console in a Deno server, next to an application of one's own and behind its login:
 *
 * ```sh
 * CONSOLE_PASSWORD=secret PORT=8000 deno run --allow-net --allow-env examples/console_deno.ts
 * ```
 *
 * Then <http://localhost:8000/workflows>, as `ann` with that password; `guest` may look and do nothing.
 */

import { Engine, saga } from "@leveret/saga";
import { memoryStore } from "@leveret/saga/memory";
import { webConsole } from "@leveret/saga/web";
import { Hono } from "hono";
import { basicAuth } from "hono/basic-auth";

const greet = saga<{ name: string }>("greet").step("say", ({ context }) => ({ text: `Hello, ${context.name}` }));

/** Who asks, by the header that the login has checked. */
function userOf(request: Request): string {
  const encoded = request.headers.get("authorization")?.replace(/^Basic /, "") ?? "";
  return atob(encoded).split(":")[0] ?? "";
}

async function main(): Promise<void> {
  const password = Deno.env.get("CONSOLE_PASSWORD") ?? "";
  if (password === "") throw new Error("Set CONSOLE_PASSWORD");
  const engine = new Engine({ store: memoryStore(), definitions: [greet] });
  engine.work();
  await engine.start(greet, { id: "greet-1", input: { name: "Ada" } });

  const app = new Hono();
  app.get("/", (context) => context.text("The application"));
  app.use(
    "/workflows/*",
    basicAuth({ verifyUser: (user, given) => ["ann", "guest"].includes(user) && given === password }),
  );
  app.route(
    "/workflows",
    webConsole(engine, {
      title: "GREETINGS",
      authorize: (request, action) => action === "read" || userOf(request) === "ann",
      actor: userOf,
    }),
  );
  const port = Number(Deno.env.get("PORT") ?? 8_000);
  Deno.serve({ port, onListen: ({ port }) => console.info(`Listening on port ${port}`) }, app.fetch);
}

if (import.meta.main) await main();
