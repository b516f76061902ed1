import assert from "node:assert/strict";
import { hasBroker, TestBroker } from "../exchanges/fixtures/broker.ts";
import { until } from "../exchanges/fixtures/until.ts";
import { withMysql } from "../stores/fixtures/mysql.ts";
import { withPostgres } from "../stores/fixtures/postgres.ts";
import { createDatabase, openStore, type StoreKind } from "../tools/servers/database.ts";
import { openDeployment } from "./deployment.ts";
import { Ledger } from "./ledger.ts";

const order = { item: "lamp", cents: 4_900, card: "card_1", email: "a@example.org" };

/** One of the example's processes; its output is read as it comes. */
class Process implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<unknown>;
  output = "";

  constructor(script: string, env: Record<string, string>) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", new URL(script, import.meta.url).href],
      env: { ...env, NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#reading = Promise.all([this.#read(this.#child.stdout), this.#read(this.#child.stderr)]);
  }

  /** Waits for a line, and returns what its pattern found. */
  async said(pattern: RegExp): Promise<RegExpExecArray> {
    await until(() => pattern.test(this.output), `${pattern} in:\n${this.output}`, 30_000);
    return pattern.exec(this.output)!;
  }

  /** Tells it to end, and waits until it has. */
  async end(): Promise<number> {
    this.#child.kill("SIGTERM");
    const { code } = await this.#child.status;
    await this.#reading;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await this.#child.status;
    await this.#reading;
  }

  async #read(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) this.output += text;
  }
}

Deno.test("openDeployment() says which stores it knows", () => {
  assert.throws(() => openDeployment({ DATABASE_URL: "oracle:thing" }), {
    message: 'Cannot open the store: DATABASE_URL begins with "oracle:"; use sqlite:, postgres:, postgresql:, mysql:',
  });
});

Deno.test("worker.ts refuses a DRAIN that is no duration when it starts, not when it is told to end", async () => {
  const dir = await Deno.makeTempDir();
  {
    const env = { DATABASE_URL: `sqlite:${dir}/sagas.sqlite`, LEDGER_PATH: `${dir}/ledger.sqlite`, AMQP_URL: "" };
    await using worker = new Process("./worker.ts", { ...env, DRAIN: "soon" });
    await worker.said(/Cannot work: DRAIN is "soon"; use text such as "500ms", "20s" or "2m"|works/);
    assert.doesNotMatch(worker.output, /Worker \d+ works/);
  }
  await Deno.remove(dir, { recursive: true });
});

/** Three processes on a store and RabbitMQ, one of which is told to end while it charges a card. */
function finishesWhatIsStarted(kind: StoreKind | "sqlite"): void {
  Deno.test(`G27 worker.ts and web.ts on ${kind} finish what is started, though SIGTERM meets a worker in a step`, async () => {
    await using broker = await TestBroker.open();
    broker.queue();
    const dir = await Deno.makeTempDir();
    const database = kind === "sqlite" ? null : await createDatabase(kind);
    const url = database?.url ?? `${dir}/sagas.sqlite`;
    const store = openStore(kind, url);
    await store.migrate();
    const env = {
      DATABASE_URL: kind === "sqlite" ? `sqlite:${url}` : url,
      LEDGER_PATH: `${dir}/ledger.sqlite`,
      AMQP_URL: broker.url,
      AMQP_PREFIX: broker.prefix,
      PORT: "0",
      CALL_MS: "500",
    };
    {
      await using web = new Process("./web.ts", env);
      await using worker = new Process("./worker.ts", env);
      const [, port] = await web.said(/Listening on port (\d+)/);
      await worker.said(/works/);
      const ask = async (path: string, options: RequestInit = {}) => {
        const response = await fetch(`http://127.0.0.1:${port}${path}`, options);
        return { status: response.status, body: await response.json() };
      };
      const post = (id: string, body: unknown) =>
        ask(`/checkouts/${id}`, { method: "POST", body: JSON.stringify(body) });
      const statusOf = async (id: string) => (await ask(`/checkouts/${id}`)).body.status;

      assert.deepEqual(await post("order-1", order), { status: 202, body: { id: "order-1", status: "running" } });
      assert.equal((await post("order-1", order)).status, 200);
      assert.equal((await post("order-1", { ...order, cents: 1 })).body.code, "id_conflict");
      assert.equal((await ask("/checkouts/order-2")).status, 404);

      // While the card is charged, which takes its time, the worker is told to end: it ends that step first.
      await worker.said(/saga\.step\.started .*step=charge_card/);
      assert.equal(await worker.end(), 0, worker.output);
      assert.match(worker.output, /drains for up to 20s: SIGTERM[\s\S]*has ended/);
      assert.equal(await statusOf("order-1"), "running");

      await using next = new Process("./worker.ts", { ...env, CALL_MS: "1" });
      await next.said(/works/);
      for (const body of [null, {}, { reference: 1 }]) {
        assert.equal((await post("order-1/settlement", body)).status, 400);
      }
      assert.equal((await post("%E0%A4%A", {})).status, 400);
      assert.equal((await post("order-1/settlement", { reference: "settled-1" })).status, 202);
      await until(async () => await statusOf("order-1") === "completed", "it is completed", 30_000);
      assert.equal((await ask("/health")).status, 200);
      assert.equal(await next.end(), 0, next.output);
      assert.equal(await web.end(), 0, web.output);
    }
    const ledger = new Ledger(env.LEDGER_PATH, "test");
    assert.deepEqual(ledger.entries().map(({ kind, what }) => [kind, what]), [
      ["effect", "reserve lamp"],
      ["effect", "charge €49.00"],
      ["effect", "book a parcel"],
      ["effect", "write to a@example.org"],
    ]);
    ledger.close();
    const [record] = await store.load(["order-1"]);
    assert.equal(record?.attempts.every(({ attempt, status }) => attempt === 1 && status === "succeeded"), true);
    await store.close();
    await database?.drop();
    await Deno.remove(dir, { recursive: true });
  });
}

if (await hasBroker("the example's deployment on RabbitMQ")) {
  finishesWhatIsStarted("sqlite");
  withPostgres("the example's deployment on PostgreSQL", () => finishesWhatIsStarted("postgres"));
  withMysql("the example's deployment on MySQL", () => finishesWhatIsStarted("mysql"));
}
