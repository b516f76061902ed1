/** Whether the parts work that executions need: for when nothing moves and nothing fails. */

import type { VNode } from "preact";
import { relative, since } from "./format.ts";
import { State } from "./mark.tsx";

/** A check, and what to do. */
export interface Finding {
  readonly isGood: boolean;
  readonly what: string;
  readonly detail: string;
}

/** All that was checked; `workers` is null where the store could not be read. */
export interface DoctorModel {
  readonly now: number;
  readonly findings: readonly Finding[];
  readonly workers:
    | readonly {
      readonly id: string;
      readonly partitions: readonly string[];
      readonly definitions: readonly string[];
      readonly seenAt: number;
    }[]
    | null;
}

/** The page. */
export function DoctorScreen({ model }: { readonly model: DoctorModel }): VNode {
  const bad = model.findings.filter(({ isGood }) => !isGood).length;
  return (
    <>
      <div class="head">
        <h1>{bad === 0 ? "All parts work" : bad === 1 ? "One part needs you" : `${bad} parts need you`}</h1>
        <p class="quiet">{`as of ${since(model.now, model.now)} UTC`}</p>
      </div>
      <div class="panel">
        <table class="cards findings">
          <tbody>
            {model.findings.map(({ isGood, what, detail }) => (
              <tr key={what}>
                <td>
                  <State name={isGood ? "completed" : "stalled"} word={isGood ? "works" : "look here"} />
                </td>
                <td class="what">{what}</td>
                <td class="wide">{detail}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <section class="panel" aria-labelledby="workers">
        <h2 id="workers">Workers</h2>
        {model.workers === null || model.workers.length === 0
          ? <p class="quiet">{model.workers === null ? "Could not be read." : "No worker is alive."}</p>
          : (
            <table class="cards workers">
              <thead>
                <tr>
                  <th>Name</th>
                  <th>Partitions</th>
                  <th>Knows</th>
                  <th class="num">Seen</th>
                </tr>
              </thead>
              <tbody>
                {model.workers.map(({ id, partitions, definitions, seenAt }) => (
                  <tr key={id}>
                    <td>{id}</td>
                    <td class="partitions">{partitions.join(", ")}</td>
                    <td class="wide quiet">{definitions.join(", ")}</td>
                    <td class="num">{relative(seenAt, model.now)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
      </section>
      <p class="row quiet">
        For a ticket:
        <a href="doctor.txt">as text</a>
        <a href="doctor.json">as JSON</a>
      </p>
    </>
  );
}
