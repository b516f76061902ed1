/** Retrying or compensating many: what would be done, before it is done. */

import type { ComponentChildren, VNode } from "preact";
import { filterWords } from "./executions.tsx";
import { count, plural, relative, since, words } from "./format.ts";
import { executionHref, query } from "./href.ts";
import { State } from "./mark.tsx";
import type { BulkModel } from "./model.ts";

interface BulkProps {
  readonly model: BulkModel;
  /** What carries it out; says without a script that it needs one. */
  readonly children: ComponentChildren;
}

/** The preview. */
export function BulkScreen({ model, children }: BulkProps): VNode {
  const { action, eligible, skipped, oldest, newest, samples, now } = model;
  const verb = action === "retry" ? "Retry" : "Compensate";
  return (
    <>
      <div class="head">
        <h1>{`${verb} ${plural(eligible.length, "execution")}`}</h1>
        <p class="quiet">
          {model.picked !== null
            ? `Of the ${count(model.picked)} that were picked. `
            : model.q === ""
            ? "Of all executions. "
            : (
              <>
                {"Of those with "}
                <code>{filterWords(model.q)}</code>
                {". "}
              </>
            )}
          {model.isLimited ? `The first ${count(eligible.length)} only: carry it out, then preview again. ` : ""}
          {"Just these are acted on; what arrives later is not caught."}
        </p>
      </div>
      {model.problem === null ? null : <p class="notice bad" role="alert">{model.problem}</p>}
      <div class="panel">
        <dl class="facts">
          <div>
            <dt>Eligible</dt>
            <dd>{count(eligible.length)}</dd>
          </div>
          <div>
            <dt>Oldest</dt>
            <dd>{oldest === null ? "none" : `${since(oldest, now)} (${relative(oldest, now)})`}</dd>
          </div>
          <div>
            <dt>Newest</dt>
            <dd>{newest === null ? "none" : `${since(newest, now)} (${relative(newest, now)})`}</dd>
          </div>
        </dl>
        {skipped.length === 0 ? null : (
          <div>
            <h3>Skipped</h3>
            <ul>{skipped.map(({ why, count: many }) => <li key={why}>{`${count(many)}: ${why}`}</li>)}</ul>
          </div>
        )}
        {samples.length === 0 ? null : (
          <div>
            <h3>{`${samples.length} of them`}</h3>
            <table class="cards samples">
              <tbody>
                {samples.map((row) => (
                  <tr key={row.id}>
                    <td>
                      <State name={row.state} word={words(row.status)} />
                    </td>
                    <td>{row.saga}</td>
                    <td>{row.step}</td>
                    <td class="wide">
                      <a class="mono" href={executionHref(row.id)}>{row.id}</a>
                    </td>
                    <td class="num quiet">{relative(row.startedAt, now)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </div>
      {children}
      <p>
        <a href={`executions${query({ q: model.q })}`}>Back to the list</a>
      </p>
    </>
  );
}

/** What stands in the place of the buttons without a script. */
export function BulkNote(): VNode {
  return <p class="notice">Carrying it out needs a script: it goes one by one, and can be stopped.</p>;
}
