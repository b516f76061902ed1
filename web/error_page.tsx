/** What a person sees where a page cannot be shown. */

import { page } from "./answer.ts";
import { assetPath } from "./asset_files.ts";
import type { ConsoleSettings } from "./options.ts";
import { Message, Page } from "./view/layout.tsx";

const HEADINGS: Readonly<Record<number, string>> = {
  400: "That makes no sense",
  403: "Not for you",
  404: "There is no such page",
  503: "The store does not answer",
};

/** The page, with the status and one sentence. */
export function errorPage(request: Request, { base, status, message, settings }: {
  readonly base: string;
  readonly status: number;
  readonly message: string;
  readonly settings: ConsoleSettings;
}): Promise<Response> {
  const heading = HEADINGS[status] ?? "Something went wrong";
  const frame = {
    title: settings.title,
    base,
    self: "./",
    assets: assetPath(""),
    pollInterval: settings.pollInterval,
    readOnly: settings.readOnly,
  };
  return page(
    request,
    <Page {...frame} heading={heading} screen="error">
      <Message heading={heading} text={message} back={{ href: "./", word: "To the map" }} />
    </Page>,
    { status },
  );
}
