/** The confirmation of an action: what it does, with the exact plan, and why it is done. */

import type { ComponentChildren, VNode } from "preact";
import type { ActionModel, DetailModel } from "./model.ts";

interface ActionFormProps {
  readonly action: ActionModel;
  readonly waitingFor: string | null;
  /** Steps that have ended well, in order: a new run may keep what comes before one of them. */
  readonly steps: readonly string[];
  /** What the last try ran into. */
  readonly problem: string | null;
  readonly isBusy: boolean;
  /** Null without a script. */
  readonly send: ((fields: Readonly<Record<string, string>>) => void) | null;
  /** The way out: a button of the dialog, or a link of the page. */
  readonly cancel: ComponentChildren;
}

/** The form; only a script can send it, since a form by itself could be sent by any other site as well. */
export function ActionForm({ action, waitingFor, steps, problem, isBusy, send, cancel }: ActionFormProps): VNode {
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        const fields = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)]);
        send?.(Object.fromEntries(fields));
      }}
    >
      <h2>{action.label}</h2>
      <p>{action.effect}</p>
      {action.plan.length === 0 ? null : (
        <ol class="plan">
          {action.plan.map(({ step, isCertain }) => (
            <li key={step}>
              {step}
              {isCertain ? null : <span class="quiet">&nbsp;(may or may not have taken effect)</span>}
            </li>
          ))}
        </ol>
      )}
      {action.action === "signal" ? <SignalFields waitingFor={waitingFor} /> : null}
      {action.action === "rerun" && steps.length > 1
        ? (
          <label>
            From
            <select name="from">
              <option value="">the beginning</option>
              {steps.slice(1).map((step) => (
                <option key={step} value={step}>{`${step}, keeping what came before`}</option>
              ))}
            </select>
          </label>
        )
        : null}
      {action.action === "skip"
        ? (
          <label>
            What the step adds to the context, as a JSON object
            <textarea name="result" class="mono" placeholder="{}" />
          </label>
        )
        : null}
      <label>
        Reason, for the audit trail
        <input name="reason" autocomplete="off" maxlength={500} />
      </label>
      {problem === null ? null : <p class="notice bad" role="alert">{problem}</p>}
      <div class="row">
        <button type="submit" class="primary" disabled={isBusy || send === null}>{action.label.split(":")[0]}</button>
        {cancel}
      </div>
    </form>
  );
}

function SignalFields({ waitingFor }: { readonly waitingFor: string | null }): VNode {
  return (
    <>
      <label>
        Name
        <input name="name" required autocomplete="off" defaultValue={waitingFor?.split(" or ")[0] ?? ""} />
      </label>
      <label>
        Payload, as JSON
        <textarea name="payload" class="mono" placeholder="null" />
      </label>
    </>
  );
}

/** Steps from which it could be run again: those that ended well without being undone, and the one after these. */
export function keepable({ way }: Pick<DetailModel, "way">): readonly string[] {
  const first = way.findIndex(({ mark }) => mark !== "completed");
  return way.slice(0, first < 0 ? way.length : first + 1).map(({ name }) => name);
}
