/**
 * Somebody signs up: a workflow with a parallel, a sleep, a signal and a point of no return, on an SQLite file.
 *
 * `deno run --allow-all examples/onboarding.ts` shows two of them: one who confirms the address, and one who does not and
 * whose account is taken back.
 */

import { Engine, type Flow, StepFailed, workflow } from "@leveret/saga";
import { sqliteStore } from "@leveret/saga/sqlite";

/** What signs somebody up. Each call takes an idempotency key: with the same key it takes effect once. */
export interface Services {
  createAccount(name: string, key: string): Promise<{ account: string }>;
  closeAccount(account: string): Promise<void>;
  sendMail(to: string, text: string, key: string): Promise<void>;
  createWorkspace(account: string, key: string): Promise<{ workspace: string }>;
  deleteWorkspace(key: string): Promise<void>;
  startBilling(account: string, key: string): Promise<void>;
}

/** Who signs up, and how long there is to confirm. */
export interface SignUp {
  name: string;
  email: string;
  confirmWithin: `${number}ms` | `${number}d`;
}

/** The workflow. */
export const onboarding = workflow("users.onboard", async (flow: Flow<Services>, input: SignUp) => {
  const { account } = await flow.step("create_account", async ({ key, resources }) => {
    return await resources.createAccount(input.name, key);
  }, { undo: async ({ resources, written }) => await resources.closeAccount(written.account) });

  const { workspace } = await flow.parallel("prepare", (p) => ({
    workspace: p.step(({ key, resources }) => resources.createWorkspace(account, key), {
      undo: ({ resources, stepKey }) => resources.deleteWorkspace(stepKey),
      undoOnFailure: true,
    }),
    mail: p.step(({ key, resources }) => resources.sendMail(input.email, "please confirm", key)),
  }));

  // Nothing runs meanwhile, and nothing is lost if the process ends: for a week, if need be.
  try {
    await flow.waitFor<boolean>("confirmed", { timeout: input.confirmWithin });
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    flow.abort("the address was not confirmed in time");
  }

  // From here on nobody is turned away any more.
  await flow.pivot("start_billing", ({ key, resources }) => resources.startBilling(account, key));
  await flow.sleep("settle_in", "200ms");
  await flow.step("ask_how_it_goes", ({ key, resources }) => resources.sendMail(input.email, "how does it go?", key));
  return { account, workspace: workspace.workspace };
});

/** Services that only say what they do. */
export function talkingServices(say: (line: string) => void): Services {
  const done = <T>(line: string, value: T): Promise<T> => {
    say(line);
    return Promise.resolve(value);
  };
  return {
    createAccount: (name) => done(`account of ${name} opened`, { account: `account of ${name}` }),
    closeAccount: (account) => done(`${account} closed`, undefined),
    sendMail: (to, text) => done(`mail to ${to}: ${text}`, undefined),
    createWorkspace: (account) => done(`workspace made for ${account}`, { workspace: `workspace of ${account}` }),
    deleteWorkspace: () => done("workspace deleted", undefined),
    startBilling: (account) => done(`billing of ${account} started`, undefined),
  };
}

/** Signs up two people, and says what happens; resolves with how each ended. */
export async function main(path: string, say: (line: string) => void): Promise<readonly string[]> {
  const store = sqliteStore({ path });
  const engine = new Engine({
    store,
    definitions: [onboarding],
    resources: talkingServices((line) => say(`  ${line}`)),
  });
  const worker = engine.work();
  const ended: string[] = [];
  for (const [name, confirms] of [["Ada", true], ["Eve", false]] as const) {
    say(`${name} signs up${confirms ? "" : ", and does not confirm"}`);
    const input: SignUp = {
      name,
      email: `${name.toLowerCase()}@example.org`,
      confirmWithin: confirms ? "7d" : "300ms",
    };
    const { execution } = await engine.start(onboarding, { input });
    if (confirms) await engine.signal(execution.id, "confirmed", true);
    const { failure, status } = await engine.wait(execution.id);
    say(`  ${status}${failure === null ? "" : `: ${failure.message}`}`);
    const attempts = await engine.attempts(execution.id);
    for (const { direction, durationMs, status: how, stepName } of attempts) {
      say(`    ${direction === "execute" ? "→" : "←"} ${stepName.padEnd(18)} ${how.padEnd(10)} ${durationMs} ms`);
    }
    ended.push(status);
  }
  await worker.stop();
  await engine.close();
  await store.close();
  return ended;
}

if (import.meta.main) {
  const folder = await Deno.makeTempDir();
  await main(`${folder}/sagas.sqlite`, console.log);
  await Deno.remove(folder, { recursive: true });
}
