/**
 * A web process for a deployment: starts checkouts and tells how they are, and runs none of their steps. Workers do,
 * `worker.ts`; the environment is the one that `deployment.ts` explains, and `PORT` (8000).
 *
 * ```sh
 * curl -d '{"item":"lamp","cents":4900,"card":"card_1","email":"a@example.org"}' localhost:8000/checkouts/order-1
 * curl -d '{"reference":"settled-1"}' localhost:8000/checkouts/order-1/settlement
 * curl localhost:8000/checkouts/order-1
 * ```
 */

import { Engine, isSagaError } from "@leveret/saga";
import { checkout, type Order, type ShopServices } from "./checkout_saga.ts";
import { type Environment, openDeployment, untilTold } from "./deployment.ts";

type Web = Engine<readonly [typeof checkout]>;

/** Answers a request. */
async function answer(engine: Web, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const [, resource, id = "", part] = pathname.split("/").map(decodeURIComponent);
  if (pathname === "/health") {
    const health = await engine.health();
    // Without its broker it still does all of its work; workers then find it a few seconds later.
    return Response.json(health, { status: health.store.ok ? 200 : 503 });
  }
  if (resource !== "checkouts" || id === "") return Response.json({ error: "There is no such page" }, { status: 404 });
  if (request.method === "GET") {
    const execution = await engine.get(id);
    if (execution === null) return Response.json({ error: "There is no such checkout" }, { status: 404 });
    return Response.json({ id, status: execution.status, explanation: (await engine.explain(id)).sentence });
  }
  if (part === "settlement") {
    const reference: unknown = (await request.json())?.reference;
    if (typeof reference !== "string") return Response.json({ error: 'Send {"reference": "…"}' }, { status: 400 });
    // The payment service may tell it twice: the same settlement counts once.
    await engine.signal(id, "settlement", { reference }, { signalId: reference });
    return Response.json({ id }, { status: 202 });
  }
  // The shop's own order number as the id: however often the button is pressed, there is one checkout.
  const { execution, created } = await engine.start(checkout, { id, input: await request.json() as Order });
  return Response.json({ id, status: execution.status }, { status: created ? 202 : 200 });
}

async function answerErrors(engine: Web, request: Request): Promise<Response> {
  try {
    return await answer(engine, request);
  } catch (error) {
    if (error instanceof SyntaxError) return Response.json({ error: "The body is not JSON" }, { status: 400 });
    if (error instanceof URIError) return Response.json({ error: "The address is malformed" }, { status: 400 });
    if (!isSagaError(error)) throw error;
    const status = error.code === "not_found" ? 404 : error.code === "store_unavailable" ? 503 : 400;
    return Response.json({ error: error.message, code: error.code }, { status });
  }
}

async function main(env: Environment): Promise<void> {
  const { close, exchange, store } = openDeployment(env);
  // Only steps call the shop, and no step runs here.
  const resources = { shop: {} as ShopServices };
  const engine = new Engine({ store, exchange, definitions: [checkout], resources, logger: console });
  const server = Deno.serve(
    { port: Number(env.PORT ?? 8_000), onListen: ({ port }) => console.info(`Listening on port ${port}`) },
    (request) => answerErrors(engine, request),
  );

  await untilTold();
  await server.shutdown();
  await engine.close();
  await close();
}

if (import.meta.main) {
  await main(Deno.env.toObject());
  Deno.exit(0);
}
