/** Splits text into lines. */

/** Hands on whole lines; what comes after the last line break is dropped: its writer was killed. */
export class TextLineStream extends TransformStream<string, string> {
  constructor() {
    let rest = "";
    super({
      transform(chunk, controller) {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) controller.enqueue(line);
      },
    });
  }
}
