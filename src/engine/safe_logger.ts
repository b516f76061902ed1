/** A logger that cannot hurt. */

import type { Logger } from "../logger.ts";

/** The logger with what it throws left out: there is nobody to tell, and saying something must not stop the work. */
export function safeLogger(logger: Logger): Logger {
  const safely = (level: keyof Logger) => (message: string): void => {
    try {
      logger[level](message);
    } catch {
      // As above.
    }
  };
  return { debug: safely("debug"), info: safely("info"), warn: safely("warn"), error: safely("error") };
}
