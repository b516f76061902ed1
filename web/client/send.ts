/** Sends what somebody wants done, as the guard asks for it. */

/** What came of it. */
export type Sent =
  | { readonly isDone: true; readonly body: Readonly<Record<string, unknown>> }
  | { readonly isDone: false; readonly status: number; readonly message: string };

/** Posts an action. Never rejects. */
export async function send(id: string, action: string, body: object): Promise<Sent> {
  try {
    const response = await fetch(`api/executions/${encodeURIComponent(id)}/${action}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-leveret": "1" },
      body: JSON.stringify(body),
      cache: "no-store",
      signal: AbortSignal.timeout(30_000),
    });
    const answer = await response.json();
    if (response.ok) return { isDone: true, body: answer };
    return { isDone: false, status: response.status, message: String(answer.error) };
  } catch {
    return {
      isDone: false,
      status: 0,
      message: "The server did not answer: it may have been done. Look again before you repeat it.",
    };
  }
}

/** The fields of a form as the body of an action; a problem if one of them is no JSON. */
export function bodyOf(
  action: string,
  fields: Readonly<Record<string, string>>,
  epoch: number,
): { readonly body: object } | { readonly problem: string } {
  const { reason = "", name = "", payload = "", result = "", from = "" } = fields;
  const said = reason.trim() === "" ? {} : { reason: reason.trim() };
  try {
    if (action === "signal") {
      return { body: { ...said, name, payload: payload.trim() === "" ? null : JSON.parse(payload) } };
    }
    if (action === "rerun") return { body: from === "" ? said : { ...said, from } };
    const added = action === "skip" && result.trim() !== "" ? { result: JSON.parse(result) } : {};
    // Refused if somebody has acted since this page was read.
    return { body: { ...said, epoch, ...added } };
  } catch {
    return { problem: "That is no JSON: texts stand in double quotes." };
  }
}
