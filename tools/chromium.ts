/** The browser that tests and screenshots use. */

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Where Chromium is, by `LEVERET_CHROMIUM` or where Debian puts it; null if there is none. */
export function chromiumPath(): string | null {
  const given = Deno.env.get("LEVERET_CHROMIUM");
  const places = given === undefined ? PLACES : [given];
  return places.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  }) ?? null;
}
