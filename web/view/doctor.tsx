/** Whether the parts work that executions need: for when nothing moves and nothing fails. */

import type { VNode } from "preact";
import { relative, since } from "./format.ts";
import { Mark } from "./mark.tsx";

/** A check, and what to do. */
export interface Finding {
  readonly isGood: boolean;
  readonly what: string;
  readonly detail: string;
}

/** All that was checked. */
export interface DoctorModel {
  readonly now: number;
  readonly findings: readonly Finding[];
  readonly workers: readonly {
    readonly id: string;
    readonly partitions: readonly string[];
    readonly definitions: readonly string[];
    readonly seenAt: number;
  }[];
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
        <table>
          <tbody>
            {model.findings.map(({ isGood, what, detail }) => (
              <tr key={what}>
                <td>
                  <span class="state">
                    <Mark name={isGood ? "completed" : "stalled"} />
                    {isGood ? "works" : "look here"}
                  </span>
                </td>
                <td>{what}</td>
                <td>{detail}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <section class="panel" aria-labelledby="workers">
        <h2 id="workers">Workers</h2>
        {model.workers.length === 0 ? <p class="quiet">No worker is alive.</p> : (
          <table>
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
                  <td>{partitions.join(", ")}</td>
                  <td>{definitions.join(", ")}</td>
                  <td class="num">{relative(seenAt, model.now)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      <p class="quiet">
        <a href="doctor.txt">as text</a> · <a href="doctor.json">as JSON</a>
      </p>
    </>
  );
}
