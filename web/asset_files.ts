/** The files that browsers load, served from memory: under a digest, so that they can be kept for good. */

import { ASSETS_DIGEST, PACKED_ASSETS } from "./generated/assets.ts";

/** Where a file is, relative to the mount point. */
export function assetPath(name: string): string {
  return `assets/${ASSETS_DIGEST}/${name}`;
}

interface AssetFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer> | null;
}

/** Answers for the files; nothing but their names is looked up, so there is no path to climb out of. */
export function assetServer(): (request: Request, digest: string, name: string) => Response {
  const files = new Map(PACKED_ASSETS.map(({ name, type, digest, plain, gzipped }) => [name, {
    type,
    etag: digest,
    plain: bytesOf(plain),
    gzipped: gzipped === null ? null : bytesOf(gzipped),
  }]));
  return (request, digest, name) => {
    const file = digest === ASSETS_DIGEST ? files.get(name) : undefined;
    return file === undefined ? new Response("There is no such file", { status: 404 }) : answer(request, file);
  };
}

function answer(request: Request, file: AssetFile): Response {
  const zipped = file.gzipped !== null && accepts(request, "gzip") ? file.gzipped : null;
  // Two representations are two entities: a strong tag may not stand for both.
  const etag = `"${file.etag}${zipped === null ? "" : "-gzip"}"`;
  const headers = new Headers({
    "cache-control": "public, max-age=31536000, immutable",
    "content-type": file.type,
    etag,
    ...(file.gzipped === null ? {} : { vary: "accept-encoding" }),
  });
  if (isKnown(request, etag)) return new Response(null, { status: 304, headers });
  if (zipped !== null) headers.set("content-encoding", "gzip");
  const body = zipped ?? file.plain;
  headers.set("content-length", String(body.length));
  return new Response(request.method === "HEAD" ? null : body, { headers });
}

/** Whether the request says that it takes an encoding. */
export function accepts(request: Request, encoding: string): boolean {
  const given = request.headers.get("accept-encoding") ?? "";
  return given.split(",").some((one) => {
    const [name, ...parameters] = one.trim().toLowerCase().split(/\s*;\s*/);
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Whether the request has it already. */
export function isKnown(request: Request, etag: string): boolean {
  const given = request.headers.get("if-none-match");
  if (given === null) return false;
  return given.trim() === "*" || given.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}
