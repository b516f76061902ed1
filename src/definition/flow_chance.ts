/** Numbers and UUIDs that are the same on every pass of a workflow's function, and no other execution's. */

import { hex } from "../domain/chance.ts";

/**
 * Chance that follows from a text: what is drawn depends on the text, on the place in the function where it is drawn,
 * and on how often something was drawn there before. What a step's code draws, on the one pass on which it runs, so has
 * no effect on what comes after the step.
 */
export class FlowChance {
  readonly #text: string;
  #state: Words;

  /** Chance of an execution; `text` is its own. */
  constructor(text: string) {
    this.#text = text;
    this.#state = wordsOf(text);
  }

  /** From here on it is drawn after so many steps; `text` is another execution's where the next step was kept from that. */
  move(steps: number, text: string = this.#text): void {
    this.#state = wordsOf(`${text}\n${steps}`);
  }

  /** A number in [0, 1), of 32 bits. */
  random(): number {
    return this.#next() / 0x1_0000_0000;
  }

  /** A UUID (version 4). */
  uuid(): string {
    const words = [1, 2, 3, 4].map(() => hex(this.#next(), 8)).join("");
    const variant = hex(8 + (parseInt(words.charAt(16), 16) & 3), 1);
    return `${words.slice(0, 8)}-${words.slice(8, 12)}-4${words.slice(13, 16)}-${variant}${words.slice(17, 20)}-` +
      words.slice(20, 32);
  }

  /** Small Fast Counter (sfc32): 128 bits of state, so that no two of many executions come to share their numbers. */
  #next(): number {
    const [a, b, c, counter] = this.#state;
    const drawn = (a + b + counter) | 0;
    this.#state = [b ^ (b >>> 9), (c + (c << 3)) | 0, (((c << 21) | (c >>> 11)) + drawn) | 0, (counter + 1) | 0];
    return drawn >>> 0;
  }
}

type Words = readonly [number, number, number, number];

/** 128 bits of a text (cyrb128): each of its characters changes all of them. */
function wordsOf(text: string): Words {
  let [a, b, c, d] = [1779033703, 3144134277, 1013904242, 2773480762];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    a = b ^ Math.imul(a ^ code, 597399067);
    b = c ^ Math.imul(b ^ code, 2869860233);
    c = d ^ Math.imul(c ^ code, 951274213);
    d = a ^ Math.imul(d ^ code, 2716044179);
  }
  a = Math.imul(c ^ (a >>> 18), 597399067);
  b = Math.imul(d ^ (b >>> 22), 2869860233);
  c = Math.imul(a ^ (c >>> 17), 951274213);
  d = Math.imul(b ^ (d >>> 19), 2716044179);
  return [a ^ b ^ c ^ d, b ^ a, c ^ a, d ^ a];
}
