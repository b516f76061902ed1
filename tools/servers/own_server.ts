/** Tests that start a server of their own, which has to be installed on this machine. */

import { leaveOut } from "../suites.ts";
import { findPrograms, type Programs, SERVER_PROGRAMS, type ServerKind } from "./programs.ts";

/** Registers tests that start a server by these programs, or says that they are left out. */
export async function withOwnServer<Kind extends ServerKind>(
  kind: Kind,
  suite: string,
  register: (programs: Programs<Kind>) => void,
): Promise<void> {
  const programs = await findPrograms(kind);
  if (programs !== null) return register(programs);
  const needs = `${SERVER_PROGRAMS[kind].join(", ")} on this machine, to start a server of its own`;
  leaveOut({ name: suite, needs, turnOn: "install the server; it need not run" });
}
