/** Answers: pages, data and text, with the headers that each of them has to have. */

import type { VNode } from "preact";
import { renderToString } from "preact-render-to-string";
import { isSagaError, type SagaErrorCode } from "../src/errors.ts";
import { accepts, isKnown } from "./asset_files.ts";

const POLICY = "default-src 'self'; base-uri 'self'; object-src 'none'; frame-ancestors 'none'; form-action 'self'";
/** Smaller answers are not worth the packing. */
const MIN_GZIP_BYTES = 1_024;

/** What is on every answer that is no file: it is for this viewer, now. */
const ALWAYS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": POLICY,
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

/** What an answer is made of. */
export interface AnswerOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A whole page. */
export function page(request: Request, tree: VNode, options: AnswerOptions = {}): Promise<Response> {
  return packed(request, `<!doctype html>${renderToString(tree)}`, "text/html; charset=utf-8", options);
}

/** Text for terminals and tickets. */
export function text(request: Request, body: string, options: AnswerOptions = {}): Promise<Response> {
  return packed(request, body, "text/plain; charset=utf-8", options);
}

/** Data. */
export function json(request: Request, value: unknown, options: AnswerOptions = {}): Promise<Response> {
  return packed(request, JSON.stringify(value), "application/json", options);
}

/**
 * Data that is asked for again and again. The time at which it was true is on every answer, also on the one that says
 * that nothing has changed; so it is no part of the digest. Where the answer leaves out what the page has, the digest is
 * that of the `whole`.
 */
export async function refreshed(
  request: Request,
  value: { readonly now: number },
  whole: { readonly now: number } = value,
): Promise<Response> {
  const { now, ...rest } = whole;
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(JSON.stringify(rest)));
  const etag = `"${[...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}"`;
  const headers = { etag, "x-leveret-now": String(now) };
  if (isKnown(request, etag)) return new Response(null, { status: 304, headers: { ...ALWAYS, ...headers } });
  return await json(request, value, { headers });
}

/** Text that is sent as it comes: nobody has to hold all of it. Who goes away is not read for any further. */
export function streamed(
  request: Request,
  parts: AsyncGenerator<string>,
  type: string,
  options: AnswerOptions = {},
): Response {
  const headers = new Headers({ ...ALWAYS, "content-type": type, vary: "accept-encoding", ...options.headers });
  if (request.method === "HEAD") return new Response(null, { headers });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: async () => void await parts.return(undefined),
  });
  if (!accepts(request, "gzip")) return new Response(body, { headers });
  headers.set("content-encoding", "gzip");
  return new Response(body.pipeThrough(new CompressionStream("gzip")), { headers });
}

/** What went wrong, as data. */
export function problem(request: Request, status: number, message: string, more: object = {}): Promise<Response> {
  return json(request, { error: message, ...more }, { status });
}

/** A redirection to a path that is relative to the requested one. */
export function goTo(location: string): Response {
  return new Response(null, { status: 302, headers: { ...ALWAYS, location } });
}

/** The status that an error of the library answers with; null for what is nobody's business outside. */
export function statusOf(error: unknown): 400 | 404 | 409 | 503 | null {
  return isSagaError(error) ? STATUSES[error.code] ?? null : null;
}

const STATUSES: Readonly<Partial<Record<SagaErrorCode, 400 | 404 | 409 | 503>>> = {
  invalid_input: 400,
  invalid_options: 400,
  invalid_query: 400,
  not_storable: 400,
  not_found: 404,
  active_key_taken: 409,
  attempt_open: 409,
  past_pivot: 409,
  request_pending: 409,
  unknown_definition: 409,
  wrong_state: 409,
  store_unavailable: 503,
  closed: 503,
};

async function packed(request: Request, body: string, type: string, options: AnswerOptions): Promise<Response> {
  const headers = new Headers({ ...ALWAYS, "content-type": type, ...options.headers });
  const status = options.status ?? 200;
  const plain = new TextEncoder().encode(body);
  if (plain.length < MIN_GZIP_BYTES) return new Response(request.method === "HEAD" ? null : plain, { status, headers });
  headers.set("vary", "accept-encoding");
  if (request.method === "HEAD") return new Response(null, { status, headers });
  if (!accepts(request, "gzip")) return new Response(plain, { status, headers });
  headers.set("content-encoding", "gzip");
  const zipped = new Blob([plain]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(await new Response(zipped).arrayBuffer(), { status, headers });
}
