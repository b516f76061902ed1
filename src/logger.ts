/** Where the engine writes what it has to say. */

/** A logger; `console` is one. */
export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** Says nothing. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
