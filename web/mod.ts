/**
 * The console for the engineer on call: what is wrong, where, since when, and what can be done about it.
 *
 * Mount {@linkcode webConsole} in a server of your own, behind your own login.
 *
 * @module
 */

export { type ConsoleApp, webConsole } from "./console.ts";
export type { ConsoleAction, ConsoleOptions, PollInterval } from "./options.ts";
export { HIDDEN, redactSecrets } from "./redact.ts";
