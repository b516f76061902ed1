/** The shapes of what moves on the map, around their middle; the same as those of the key. */

/** By what a token stands for. */
export const TOKEN_SHAPES: Readonly<Record<"running" | "compensating" | "stalled" | "failed", string>> = {
  running: "M-4.25 0a4.25 4.25 0 1 0 8.5 0 4.25 4.25 0 1 0-8.5 0z",
  compensating: "M3.5-4.25v8.5L-4 0z",
  stalled: "M0-4.9 4.9 0 0 4.9-4.9 0z",
  failed: "m-3.8-5.2L0-1.4l3.8-3.8 1.4 1.4L1.4 0l3.8 3.8-1.4 1.4L0 1.4l-3.8 3.8-1.4-1.4L-1.4 0l-3.8-3.8z",
};
