import assert from "node:assert/strict";
import { NonRetryable } from "@leveret/saga";
import { Ledger } from "./ledger.ts";

function kinds(ledger: Ledger): string[] {
  return ledger.entries().map(({ kind, worker }) => `${kind} ${worker}`);
}

async function withLedgers(use: (one: Ledger, other: Ledger) => void): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "leveret-test-" });
  const ledgers = ["one", "other"].map((worker) => new Ledger(`${dir}/ledger.sqlite`, worker));
  try {
    use(ledgers[0]!, ledgers[1]!);
  } finally {
    for (const ledger of ledgers) ledger.close();
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("Ledger takes effect once for each key, whoever asks", () =>
  withLedgers((one, other) => {
    const receipt = one.perform("a:charge", "charge 5");
    assert.equal(other.perform("a:charge", "charge 5"), receipt);
    assert.deepEqual(kinds(one), ["effect one", "repeat other"]);
  }));

Deno.test("Ledger refuses what was taken back, before and after it took effect", () =>
  withLedgers((one, other) => {
    one.perform("a:charge", "charge 5");
    other.takeBack("a:charge", "refund");
    other.takeBack("b:charge", "refund");
    other.takeBack("b:charge", "refund");
    assert.throws(() => one.perform("a:charge", "charge 5"), NonRetryable);
    assert.throws(() => one.perform("b:charge", "charge 5"), NonRetryable);
    assert.deepEqual(kinds(one), ["effect one", "undo other", "undo other", "refused one", "refused one"]);
  }));
