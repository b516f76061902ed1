/** The colours of the states can be told apart, also by those who do not see all of them, and be read. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const CSS = readFileSync(new URL("./assets/console.css", import.meta.url), "utf8");
const STATES = ["running", "compensating", "stalled", "failed", "completed", "compensated"] as const;
const GROUNDS = ["ground", "surface", "sunken"] as const;
const MIN_DIFFERENCE = 12;
const MIN_CONTRAST = 4.5;

type Triple = readonly [number, number, number];
type Theme = "light" | "dark";

function colour(name: string, theme: Theme): Triple {
  const found = new RegExp(`--${name}: light-dark\\(#([0-9a-f]{6}), #([0-9a-f]{6})\\)`).exec(CSS);
  assert.ok(found, `the colour ${name} is defined for both themes`);
  const hex = found[theme === "light" ? 1 : 2]!;
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255) as unknown as Triple;
}

function linear(rgb: Triple): Triple {
  return rgb.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4) as unknown as Triple;
}

function times(matrix: readonly Triple[], vector: Triple): Triple {
  return matrix.map((row) => row[0] * vector[0] + row[1] * vector[1] + row[2] * vector[2]) as unknown as Triple;
}

/** Machado, Oliveira and Fernandes (2009), complete deficiency, on linear RGB. */
const VISIONS: Readonly<Record<string, readonly Triple[]>> = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const TO_XYZ: readonly Triple[] = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
];

function lab(rgb: Triple): Triple {
  const clipped = rgb.map((part) => Math.min(1, Math.max(0, part))) as unknown as Triple;
  const [x, y, z] = times(TO_XYZ, clipped);
  const f = (value: number) => value > 216 / 24389 ? Math.cbrt(value) : (24389 / 27 * value + 16) / 116;
  const [fx, fy, fz] = [f(x / 0.95047), f(y), f(z / 1.08883)];
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
}

/** CIEDE2000. */
function difference([l1, a1, b1]: Triple, [l2, a2, b2]: Triple): number {
  const degrees = (radians: number) => (radians * 180 / Math.PI + 360) % 360;
  const radians = (value: number) => value * Math.PI / 180;
  const meanC = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(meanC ** 7 / (meanC ** 7 + 25 ** 7)));
  const [c1, c2] = [Math.hypot(a1 * (1 + g), b1), Math.hypot(a2 * (1 + g), b2)];
  const h1 = c1 === 0 ? 0 : degrees(Math.atan2(b1, a1 * (1 + g)));
  const h2 = c2 === 0 ? 0 : degrees(Math.atan2(b2, a2 * (1 + g)));
  let dh = c1 * c2 === 0 ? 0 : h2 - h1;
  if (dh > 180) dh -= 360;
  if (dh < -180) dh += 360;
  const dH = 2 * Math.sqrt(c1 * c2) * Math.sin(radians(dh / 2));
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  let h = h1 + h2;
  if (c1 * c2 !== 0) {
    if (Math.abs(h1 - h2) <= 180) h /= 2;
    else h = h < 360 ? (h + 360) / 2 : (h - 360) / 2;
  }
  const t = 1 - 0.17 * Math.cos(radians(h - 30)) + 0.24 * Math.cos(radians(2 * h)) +
    0.32 * Math.cos(radians(3 * h + 6)) - 0.2 * Math.cos(radians(4 * h - 63));
  const sl = 1 + 0.015 * (l - 50) ** 2 / Math.sqrt(20 + (l - 50) ** 2);
  const [sc, sh] = [1 + 0.045 * c, 1 + 0.015 * c * t];
  const rt = -2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) * Math.sin(radians(60 * Math.exp(-(((h - 275) / 25) ** 2))));
  const [dl, dc, dhh] = [(l2 - l1) / sl, (c2 - c1) / sc, dH / sh];
  return Math.sqrt(dl ** 2 + dc ** 2 + dhh ** 2 + rt * dc * dhh);
}

function contrast(a: Triple, b: Triple): number {
  const luminance = (rgb: Triple) => times(TO_XYZ, linear(rgb))[1];
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

Deno.test("difference() is CIEDE2000, by the pairs that were published with it", () => {
  const pairs: readonly (readonly [Triple, Triple, number])[] = [
    [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
    [[50, 2.5, 0], [73, 25, -18], 27.1492],
    [[22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619], 2.0373],
    [[90.8027, -2.0831, 1.441], [91.1528, -1.6435, 0.0447], 1.4441],
  ];
  for (const [a, b, expected] of pairs) assert.ok(Math.abs(difference(a, b) - expected) < 0.0001);
});

for (const theme of ["light", "dark"] as const) {
  Deno.test(`any two states differ in every kind of vision: ${theme}`, () => {
    const close: string[] = [];
    for (const [vision, matrix] of Object.entries(VISIONS)) {
      const seen = STATES.map((name) => lab(times(matrix, linear(colour(name, theme)))));
      for (let a = 0; a < seen.length; a++) {
        for (let b = a + 1; b < seen.length; b++) {
          const far = difference(seen[a]!, seen[b]!);
          if (far < MIN_DIFFERENCE) close.push(`${vision}: ${STATES[a]} and ${STATES[b]} by ${far.toFixed(1)}`);
        }
      }
    }
    assert.deepEqual(close, []);
  });

  Deno.test(`text can be read on every ground: ${theme}`, () => {
    const faint: string[] = [];
    for (const ground of GROUNDS) {
      for (const name of [...STATES, "ink", "quiet", "accent"]) {
        const ratio = contrast(colour(name, theme), colour(ground, theme));
        if (ratio < MIN_CONTRAST) faint.push(`${name} on ${ground}: ${ratio.toFixed(2)}`);
      }
    }
    const onAccent = contrast(colour("surface", theme), colour("accent", theme));
    if (onAccent < MIN_CONTRAST) faint.push(`a primary button: ${onAccent.toFixed(2)}`);
    assert.deepEqual(faint, []);
  });
}
