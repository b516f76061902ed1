import assert from "node:assert/strict";
import { addTallies, describeTally, tallyOf } from "./tally.ts";

const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="4" failures="1" errors="0" time="0.075">
    <testsuite name="./a_test.ts" tests="4" disabled="1" errors="0" failures="1">
        <testcase name="a" classname="./a_test.ts" time="0.004" line="1" col="6">
        </testcase>
        <testcase name="b" classname="./a_test.ts" time="0.001" line="2" col="6">
            <failure message="Uncaught Error: x">Error: x</failure>
        </testcase>
        <testcase name="c &amp; &lt;d&gt;" classname="./a_test.ts" time="0.000" line="3" col="6">
            <skipped/>
        </testcase>
        <testcase name="e" classname="./a_test.ts" time="0.000"/>
    </testsuite>
</testsuites>
`;

Deno.test("tallyOf() counts what a report says, and names what was skipped", () => {
  assert.deepEqual(tallyOf(REPORT, false), { passed: 2, failed: 1, skipped: ["c & <d>"] });
});

Deno.test("tallyOf() counts a failure of which the report says nothing", () => {
  assert.deepEqual(tallyOf(null, false), { passed: 0, failed: 1, skipped: [] });
  assert.deepEqual(tallyOf('<testcase name="a">\n</testcase>', false), { passed: 1, failed: 1, skipped: [] });
  assert.deepEqual(tallyOf(null, true), { passed: 0, failed: 0, skipped: [] });
});

Deno.test("addTallies() adds up", () => {
  const sum = addTallies({ passed: 1, failed: 2, skipped: ["a"] }, { passed: 3, failed: 4, skipped: ["b"] });
  assert.deepEqual(sum, { passed: 4, failed: 6, skipped: ["a", "b"] });
  assert.equal(describeTally(sum), "4 passed, 6 failed");
});
