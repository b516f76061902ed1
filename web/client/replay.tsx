/** The replay of an execution along its line: by hand, step by step, or by itself. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { clock, duration, words } from "../view/format.ts";
import { attemptMark, labelOf } from "../view/gantt.tsx";
import { Mark } from "../view/mark.tsx";
import type { AttemptModel } from "../view/model.ts";

const STEP_MS = 800;

/** A scrubber over the attempts. */
export function Replay({ attempts }: { readonly attempts: readonly AttemptModel[] }): VNode | null {
  const [at, setAt] = useState(attempts.length);
  const [speed, setSpeed] = useState(0);
  useEffect(() => {
    if (speed === 0) return;
    const timer = setInterval(() => setAt((now) => Math.min(now + 1, attempts.length)), STEP_MS / speed);
    return () => clearInterval(timer);
  }, [speed, attempts.length]);
  useEffect(() => {
    if (at >= attempts.length) setSpeed(0);
  }, [at]);
  if (attempts.length < 2) return null;
  const row = attempts[Math.min(at, attempts.length) - 1];
  const play = (by: number) => {
    if (at >= attempts.length) setAt(0);
    setSpeed(by);
  };
  return (
    <div class="form">
      <div class="replay" role="group" aria-label="Replay">
        {speed === 0
          ? <button type="button" onClick={() => play(1)}>Replay</button>
          : <button type="button" onClick={() => setSpeed(0)}>Pause</button>}
        <button type="button" aria-pressed={speed === 4} onClick={() => play(4)}>4×</button>
        <span class="row">
          <button type="button" aria-label="One attempt back" onClick={() => setAt(Math.max(0, at - 1))}>‹</button>
          <button type="button" aria-label="One attempt on" onClick={() => setAt(Math.min(attempts.length, at + 1))}>
            ›
          </button>
        </span>
        <input
          type="range"
          min={0}
          max={attempts.length}
          value={at}
          aria-label="Attempt"
          aria-valuetext={row === undefined ? "before the first attempt" : `${labelOf(row)}: ${row.status}`}
          onInput={(event) => {
            setSpeed(0);
            setAt(Number(event.currentTarget.value));
          }}
        />
        <span class="nowrap quiet">{`${Math.min(at, attempts.length)} of ${attempts.length}`}</span>
      </div>
      <p class="row quiet">
        {row === undefined ? "Before the first attempt" : (
          <>
            <Mark name={attemptMark(row)} />
            {`${clock(row.startedAt)}  ${labelOf(row)}: ${words(row.status)}`}
            {row.durationMs === null ? "" : ` in ${duration(row.durationMs)}`}
          </>
        )}
      </p>
    </div>
  );
}
