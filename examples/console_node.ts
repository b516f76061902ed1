/**
 * The console in a Node server, by `@hono/node-server`:
 *
 * ```sh
 * npm install @leveret/saga hono @hono/node-server
 * PORT=8000 node console_node.ts
 * ```
 *
 * Without `authorize` it can be read from this machine only, and nothing can be done.
 */

import { serve } from "@hono/node-server";
import { Engine, saga } from "@leveret/saga";
import { memoryStore } from "@leveret/saga/memory";
import { webConsole } from "@leveret/saga/web";
import process from "node:process";

const greet = saga<{ name: string }>("greet").step("say", ({ context }) => ({ text: `Hello, ${context.name}` }));

const engine = new Engine({ store: memoryStore(), definitions: [greet] });
engine.work();
await engine.start(greet, { id: "greet-1", input: { name: "Ada" } });

const { fetch } = webConsole(engine);
const port = Number(process.env.PORT ?? 8_000);
serve({ fetch, port, hostname: "127.0.0.1" }, (info) => console.info(`Listening on port ${info.port}`));
