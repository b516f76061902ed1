import { exchangeConformance } from "@leveret/saga/testing";
import { localExchange } from "@leveret/saga";
import { test } from "node:test";

exchangeConformance((name, run) => void test(`localExchange() ${name}`, run), {
  open: () => localExchange(),
  keepsHints: false,
});
