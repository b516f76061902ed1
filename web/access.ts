/** Who may do what: asked before anything is looked up. */

import { ACTIONS, type ConsoleAction, type ConsoleSettings } from "./options.ts";

/** What a request may do. */
export interface Access {
  readonly read: boolean;
  /** Whether it may do this; asked once, when it is needed. */
  may(action: ConsoleAction): Promise<boolean>;
  /** Those of all actions that it may do. */
  allowed(): Promise<readonly ConsoleAction[]>;
}

/** Asks for `read`. Rejects with what `authorize` throws. */
export async function accessOf(request: Request, settings: ConsoleSettings, surroundings: unknown): Promise<Access> {
  const { authorize, readOnly } = settings;
  const ask = async (action: ConsoleAction) => await authorize(request, action, surroundings) === true;
  const answers = new Map<ConsoleAction, Promise<boolean>>();
  const may = (action: ConsoleAction) => {
    if (readOnly && action !== "read") return Promise.resolve(false);
    const asked = answers.get(action) ?? ask(action);
    answers.set(action, asked);
    return asked;
  };
  return {
    read: await may("read"),
    may,
    async allowed() {
      const all = await Promise.all(ACTIONS.map(may));
      return ACTIONS.filter((_action, at) => all[at]);
    },
  };
}
