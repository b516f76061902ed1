/** Carries out a bulk action one by one: a canary first, then ten, then the rest; it can be stopped, and stops itself. */

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { BulkNote, BulkScreen } from "../view/bulk.tsx";
import { count, plural } from "../view/format.ts";
import { executionHref } from "../view/href.ts";
import type { BulkModel, DetailModel } from "../view/model.ts";
import { send } from "./send.ts";

/** More than these need the number typed. */
const FEW = 10;
/** How long the canary is watched: whether the same error returns. */
const WATCH_MS = 15_000;
const LOOK_EVERY_MS = 1_000;

interface Result {
  readonly id: string;
  readonly isDone: boolean;
  readonly text: string;
}

type Phase = "ready" | "going" | "watching" | "over";

/** The preview, and what carries it out. */
export function BulkIsland({ model }: { readonly model: BulkModel }): VNode {
  const [phase, setPhase] = useState<Phase>("ready");
  const [results, setResults] = useState<readonly Result[]>([]);
  const [said, setSaid] = useState<string | null>(null);
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const isStopped = useRef(false);
  const { action, eligible } = model;
  const done = results.length;
  const left = eligible.length - done;
  const isSure = left <= FEW || typed.trim() === String(eligible.length);

  const one = async ({ id, epoch }: { readonly id: string; readonly epoch: number }): Promise<Result> => {
    const sent = await send(id, action, { epoch, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) });
    return sent.isDone ? { id, isDone: true, text: "done" } : { id, isDone: false, text: sent.message };
  };
  const go = async (many: number) => {
    isStopped.current = false;
    setPhase("going");
    setSaid(null);
    const all = [...results];
    for (const target of eligible.slice(done, done + many)) {
      if (isStopped.current) break;
      const before = action === "retry" && many <= FEW ? await lookAt(target.id) : null;
      const result = await one(target);
      all.push(result);
      setResults([...all]);
      if (!result.isDone || before === null || many > FEW) continue;
      setPhase("watching");
      const again = await sameErrorReturns(target.id, before, () => isStopped.current);
      setPhase("going");
      if (!again) continue;
      setSaid(`Stopped: ${target.id} ran into the same error again (${before.error?.text}).`);
      break;
    }
    setPhase(all.length >= eligible.length ? "over" : "ready");
  };
  const failed = results.filter(({ isDone }) => !isDone);
  const isBusy = phase === "going" || phase === "watching";
  const batches = [1, 10, left].filter((many, at, list) => many <= left && many > 0 && list.indexOf(many) === at);
  const [isHydrated, setHydrated] = useState(false);
  useEffect(() => setHydrated(true), []);
  if (!isHydrated) {
    return (
      <BulkScreen model={model}>
        <BulkNote />
      </BulkScreen>
    );
  }
  return (
    <BulkScreen model={model}>
      {eligible.length === 0 ? <p class="notice">There is nothing to do.</p> : (
        <div class="panel form">
          <label>
            Reason, for the audit trail
            <input
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
              maxLength={500}
              autocomplete="off"
            />
          </label>
          {left > FEW
            ? (
              <label>
                {`For more than ${FEW} at once, type the number: ${eligible.length}`}
                <input
                  value={typed}
                  onInput={(event) => setTyped(event.currentTarget.value)}
                  inputMode="numeric"
                  autocomplete="off"
                />
              </label>
            )
            : null}
          <div class="row">
            {batches.map((many, at) => (
              <button
                key={many}
                type="button"
                class={at === 0 ? "primary" : ""}
                disabled={isBusy || (many > FEW && !isSure)}
                onClick={() => void go(many)}
              >
                {many === 1 && left > 1
                  ? "One first"
                  : many === left && done > 0
                  ? `The rest: ${count(many)}`
                  : many === left
                  ? `All ${count(many)}`
                  : `${count(many)}`}
              </button>
            ))}
            {isBusy ? <button type="button" onClick={() => void (isStopped.current = true)}>Stop</button> : null}
          </div>
          <div role="status">
            {done === 0 ? null : (
              <p>
                {`${count(done)} of ${count(eligible.length)}; ${count(done - failed.length)} done, ${
                  plural(failed.length, "refusal")
                }`}
                {phase === "watching" ? ". Watching whether the same error returns…" : ""}
              </p>
            )}
            {done === 0 ? null : <progress max={eligible.length} value={done} aria-label="Progress" />}
            {said === null ? null : <p class="notice bad">{said}</p>}
          </div>
          {results.length === 0 ? null : (
            <details>
              <summary>Each of them</summary>
              <table>
                <tbody>
                  {results.map(({ id, isDone, text }) => (
                    <tr key={id}>
                      <td>
                        <a class="mono" href={executionHref(id)}>{id}</a>
                      </td>
                      <td class={isDone ? "completed" : "failed"}>{text}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </details>
          )}
        </div>
      )}
    </BulkScreen>
  );
}

interface Look {
  readonly step: string;
  readonly isCompleted: boolean;
  /** The last error; null if there was none. */
  readonly error: { readonly at: number; readonly text: string } | null;
}

/** Where an execution stands, and what it ran into last. */
async function lookAt(id: string): Promise<Look | null> {
  const response = await fetch(`api/${executionHref(id)}`, { cache: "no-store" }).catch(() => null);
  if (response === null || !response.ok) return null;
  const { attempts, failure, row }: Pick<DetailModel, "attempts" | "failure" | "row"> = await response.json();
  const last = attempts.findLast(({ errorClass }) => errorClass !== null);
  const error = last !== undefined
    ? { at: last.startedAt, text: `${last.errorClass}: ${last.errorMessage}` }
    : failure === null
    ? null
    : { at: failure.at, text: `${failure.class}: ${failure.message}` };
  return { step: row.step, isCompleted: row.state === "completed", error };
}

/** Looks after the canary until it runs into something, gets past the step, or nothing has come for a while. */
async function sameErrorReturns(id: string, before: Look, isStopped: () => boolean): Promise<boolean> {
  for (let waited = 0; waited < WATCH_MS && !isStopped(); waited += LOOK_EVERY_MS) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    const now = await lookAt(id);
    if (now === null) continue;
    if (now.error !== null && now.error.at > (before.error?.at ?? 0)) return now.error.text === before.error?.text;
    if (now.isCompleted || now.step !== before.step) return false;
  }
  return false;
}
