import assert from "node:assert/strict";
import { main } from "./onboarding.ts";

Deno.test("the onboarding example signs one up, and takes the other back", async () => {
  const lines: string[] = [];
  const folder = await Deno.makeTempDir();
  try {
    assert.deepEqual(await main(`${folder}/sagas.sqlite`, (line) => void lines.push(line)), [
      "completed",
      "compensated",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const said = lines.filter((line) => /^ {2}\S/.test(line)).map((line) => line.trim());
  assert.deepEqual(said.slice(0, 6), [
    "account of Ada opened",
    "workspace made for account of Ada",
    "mail to ada@example.org: please confirm",
    "billing of account of Ada started",
    "mail to ada@example.org: how does it go?",
    "completed",
  ]);
  assert.deepEqual(said.slice(9), [
    "workspace deleted",
    "account of Eve closed",
    "compensated: the address was not confirmed in time",
  ]);
});
