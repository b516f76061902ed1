/** What every request has to pass that might change something, so that no other site can make a browser send it. */

/** A refusal, with the sentence that says why. */
export interface Refusal {
  readonly status: 403 | 413 | 415 | 400;
  readonly message: string;
}

/** Null: it may go on. `origins` are the public ones; the request's own if there are none. */
export function refusalOfUnsafe(request: Request, origins: readonly string[]): Refusal | null {
  const { headers } = request;
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return forbidden("it comes from another site");
  const from = originOf(headers);
  if (from === null) return forbidden("it says neither by Origin nor by Referer where it comes from");
  const own = origins.length === 0 ? [new URL(request.url).origin] : origins;
  if (!own.includes(from)) return forbidden(`it comes from ${from}, not from ${own.join(" or ")}`);
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") return { status: 415, message: "Cannot take the request: use application/json" };
  if (headers.get("x-leveret") !== "1") return forbidden("the header X-Leveret: 1 is missing");
  return null;
}

/** Largest body that is read: 1 MiB. */
export const MAX_BODY_BYTES = 1_048_576;

/** The object that a request carries; `refused` if it carries something else, or too much of it. */
export async function bodyOf(
  request: Request,
): Promise<{ readonly body: Readonly<Record<string, unknown>> } | { readonly refused: Refusal }> {
  const text = await textOf(request);
  if (text === null) {
    return { refused: { status: 413, message: `Cannot take the request: it is larger than ${MAX_BODY_BYTES} bytes` } };
  }
  const body = parsed(text);
  if (typeof body === "object" && body !== null && !Array.isArray(body)) {
    return { body: body as Readonly<Record<string, unknown>> };
  }
  return { refused: { status: 400, message: "Cannot take the request: its body is no JSON object" } };
}

function originOf(headers: Headers): string | null {
  const origin = headers.get("origin");
  if (origin !== null) return origin;
  const referer = headers.get("referer");
  return referer === null ? null : URL.parse(referer)?.origin ?? "nowhere";
}

function forbidden(why: string): Refusal {
  return { status: 403, message: `Cannot take the request: ${why}` };
}

/** Stops reading as soon as it is too much, whatever the request says of its length. */
async function textOf(request: Request): Promise<string | null> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return await new Blob(chunks as BlobPart[]).text();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // refused like any other body that is no object
  }
}
