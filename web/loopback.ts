/** Whether a request comes from this machine: what may be read where nobody has said who may. */

const NAMES: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);
/** Set by proxies, which stand on this machine and bring requests from others. */
const PROXY_HEADERS = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/**
 * By the peer's address, which only the server knows (`Deno.serve` and `@hono/node-server` hand it on), by the name that
 * was asked for (another site's name may be made to point here), and by the absence of a proxy.
 */
export function isFromThisMachine(request: Request, surroundings: unknown): boolean {
  const address = peerAddress(surroundings);
  return address !== null && isLoopback(address) && NAMES.has(new URL(request.url).hostname) &&
    !PROXY_HEADERS.some((name) => request.headers.has(name));
}

function peerAddress(surroundings: unknown): string | null {
  const { remoteAddr, incoming } = (surroundings ?? {}) as {
    readonly remoteAddr?: { readonly hostname?: string };
    readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
  };
  return remoteAddr?.hostname ?? incoming?.socket?.remoteAddress ?? null;
}

function isLoopback(address: string): boolean {
  return address === "::1" || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(address);
}
