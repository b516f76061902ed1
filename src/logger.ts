/** Where the engine writes what it has to say. */

/** A logger; `console` is one. */
export interface Logger {
  /** Progress of steps. */
  debug(message: string): void;
  /** What is worth knowing. */
  info(message: string): void;
  /** What went wrong and is taken care of. */
  warn(message: string): void;
  /** What needs somebody. */
  error(message: string): void;
}

/** Says nothing. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
