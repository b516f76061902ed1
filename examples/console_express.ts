/**
 * The console in an Express application, below `/workflows`:
 *
 * ```sh
 * npm install @leveret/saga hono @hono/node-server express
 * PORT=8000 node console_express.ts
 * ```
 *
 * Express takes the prefix away before it hands a request on, so the console is told where it is: `basePath`.
 */

import { getRequestListener } from "@hono/node-server";
import { Engine, saga } from "@leveret/saga";
import { memoryStore } from "@leveret/saga/memory";
import { webConsole } from "@leveret/saga/web";
// @ts-ignore: it has no types of its own; @types/express has them
import express from "express";
import process from "node:process";

const greet = saga<{ name: string }>("greet").step("say", ({ context }) => ({ text: `Hello, ${context.name}` }));

const engine = new Engine({ store: memoryStore(), definitions: [greet] });
engine.work();
await engine.start(greet, { id: "greet-1", input: { name: "Ada" } });

const app = express();
app.get("/", (_request: unknown, response: { send(text: string): void }) => response.send("The application"));
// Before body parsers: the console reads bodies itself. Behind a login of yours, `authorize` says who may do what.
app.use("/workflows", getRequestListener(webConsole(engine, { basePath: "/workflows" }).fetch));
const server = app.listen(Number(process.env.PORT ?? 8_000), "127.0.0.1", () => {
  const address = server.address();
  console.info(`Listening on port ${typeof address === "object" ? address?.port : address}`);
});
