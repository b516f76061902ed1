/** Carries out what somebody asks for, by the engine's operations. */

import type { Json, JsonObject } from "../src/domain/json.ts";
import type { Engine } from "../src/engine/engine.ts";
import { isSagaError } from "../src/errors.ts";
import type { Access } from "./access.ts";
import { json, problem, statusOf } from "./answer.ts";
import { bodyOf } from "./guard.ts";
import { ACTIONS, type ConsoleAction, type ConsoleSettings } from "./options.ts";

/** What can be asked for. */
export type ActionName = Exclude<ConsoleAction, "read">;

/** The names, as they stand in paths. */
export const ACTION_NAMES: readonly ActionName[] = ACTIONS;

/** Whether it is the name of an action. */
export function isActionName(name: string): name is ActionName {
  return (ACTION_NAMES as readonly string[]).includes(name);
}

interface Asked {
  readonly request: Request;
  readonly id: string;
  readonly name: ActionName;
  readonly access: Access;
}

/** The answer to a request that has passed the guard. */
export async function act(engine: Engine, settings: ConsoleSettings, asked: Asked): Promise<Response> {
  const { request, id, name, access } = asked;
  if (!await access.may(name)) return await problem(request, 403, `You may not ${name} executions`);
  const read = await bodyOf(request);
  if ("refused" in read) return await problem(request, read.refused.status, read.refused.message);
  const { body } = read;
  const wrong = problemOf(body, name);
  if (wrong !== null) return await problem(request, 400, `Cannot ${name}: ${wrong}`);
  try {
    const actor = await settings.actor(request);
    const by = {
      ...(actor === undefined ? {} : { actor }),
      ...(typeof body.reason === "string" && body.reason.trim() !== "" ? { reason: body.reason.trim() } : {}),
    };
    const epoch = typeof body.epoch === "number" ? { epoch: body.epoch } : {};
    return await json(request, await carryOut(engine, { id, name, by, epoch, body }));
  } catch (error) {
    const status = statusOf(error);
    if (status === null || !isSagaError(error)) throw error;
    return await problem(request, status, error.message, { code: error.code, status: error.details.status ?? null });
  }
}

async function carryOut(engine: Engine, { id, name, by, epoch, body }: {
  readonly id: string;
  readonly name: ActionName;
  readonly by: { readonly actor?: string; readonly reason?: string };
  readonly epoch: { readonly epoch?: number };
  readonly body: Readonly<Record<string, unknown>>;
}): Promise<object> {
  switch (name) {
    case "retry":
      return stateOf(await engine.retry(id, { ...by, ...epoch }));
    case "compensate":
      return stateOf(await engine.compensate(id, { ...by, ...epoch }));
    case "skip": {
      const result = body.result === undefined ? {} : { result: body.result as JsonObject };
      return stateOf(await engine.skipStep(id, { ...by, ...epoch, ...result }));
    }
    case "terminate":
      return stateOf(await engine.terminate(id, { ...by, ...epoch }));
    case "signal":
      return { id, stored: await engine.signal(id, body.name as string, (body.payload ?? null) as Json, by) };
    case "rerun": {
      const from = body.from === undefined ? {} : { from: body.from as string };
      const { execution, created } = await engine.rerun(id, { ...by, ...from });
      return { ...stateOf(execution), created };
    }
    default:
      return name satisfies never;
  }
}

function stateOf(
  { id, status, epoch }: { readonly id: string; readonly status: string; readonly epoch: number },
): object {
  return { id, status, epoch };
}

const FIELDS: Readonly<Record<ActionName, readonly string[]>> = {
  retry: ["reason", "epoch"],
  compensate: ["reason", "epoch"],
  skip: ["reason", "epoch", "result"],
  terminate: ["reason", "epoch"],
  signal: ["reason", "name", "payload"],
  rerun: ["reason", "from"],
};

/** What is wrong with a body, or null. What the engine checks itself is left to it. */
function problemOf(body: Readonly<Record<string, unknown>>, name: ActionName): string | null {
  const unknown = Object.keys(body).find((key) => !FIELDS[name].includes(key));
  if (unknown !== undefined) return `there is no field ${JSON.stringify(unknown)}; use ${FIELDS[name].join(", ")}`;
  if (body.reason !== undefined && typeof body.reason !== "string") return "the reason has to be text";
  if (body.epoch !== undefined && !Number.isSafeInteger(body.epoch)) return "the epoch has to be a whole number";
  if (body.from !== undefined && typeof body.from !== "string") return "the step to begin from has to be a name";
  if (name === "signal" && typeof body.name !== "string") return "the signal needs a name";
  const { result } = body;
  if (result !== undefined && (typeof result !== "object" || result === null || Array.isArray(result))) {
    return "the result has to be a JSON object";
  }
  return null;
}
