/**
 * A week of executions, made by the database itself: what the console's queries are measured on, and what the tests of
 * their plans run on. The same executions on every database.
 *
 * All but a few have finished. Some retried, some were undone, some failed; a few thousand are in progress, some hundred
 * of them stalled or blocked; and in the last hour one step failed again and again.
 */

/** A database's way of saying what the texts need. */
export interface SeedDialect {
  /** A select of the numbers from one to below another, as `i`. */
  series(from: number, to: number): string;
  /** An instant from microseconds. */
  instant(microseconds: string): string;
  json(text: string): string;
  concat(...parts: readonly string[]): string;
  /** The text as the driver takes it. */
  text(sql: string): string;
}

/** How much, and until when. */
export interface SeedOptions {
  readonly executions: number;
  /** The end of the week, in milliseconds. */
  readonly now: number;
}

const WEEK_US = 604_800_000_000;

/** Sagas with their three steps each. */
export const SAGAS: readonly (readonly [name: string, steps: readonly [string, string, string]])[] = [
  ["orders.checkout", ["reserve_stock", "charge", "ship"]],
  ["orders.refund", ["check_return", "refund_payment", "restock"]],
  ["orders.cancel", ["stop_shipping", "refund_payment", "notify"]],
  ["billing.invoice", ["number", "charge_card", "send_invoice"]],
  ["billing.dunning", ["remind", "wait_for_payment", "block_account"]],
  ["users.onboard", ["create_account", "verify_address", "welcome"]],
  ["users.delete", ["export_data", "delete_data", "confirm"]],
  ["webhooks.deliver", ["sign", "send", "record"]],
  ["stock.replenish", ["order_goods", "await_delivery", "store_goods"]],
  ["reports.nightly", ["collect", "render", "publish"]],
];

/** The errors: their class, their message in SQL, and what is left of it in a group. */
const ERRORS: readonly (readonly [errorClass: string, message: readonly string[], normalised: string])[] = [
  ["HttpError", ["'HTTP 502'"], "HTTP 502"],
  ["HttpError", ["'HTTP 429, try again in '", "i % 60", "' s'"], "HTTP 429, try again in # s"],
  ["TimeoutError", ["'no answer within 5000 ms'"], "no answer within # ms"],
  ["Error", ["'connect ECONNREFUSED 10.0.0.'", "i % 250", "':5432'"], "connect ECONNREFUSED #"],
  ["NotFound", ["'order '", "i", "' is gone'"], "order # is gone"],
  ["CardDeclined", ["'the card was declined'"], "the card was declined"],
];

/** Executions in one statement. */
const CHUNK = 100_000;

/** The statements, in order; each stands for itself. */
export function* seedStatements(dialect: SeedDialect, options: SeedOptions): Generator<string> {
  for (let from = 0; from < options.executions; from += CHUNK) {
    const to = Math.min(from + CHUNK, options.executions);
    yield executions(dialect, options, dialect.series(from, to));
    yield attempts(dialect, options, dialect.series(from, to));
  }
  yield failuresOfTheLastHour(dialect, options);
}

/** What is derived from the number of an execution; everything else follows from it. */
function numbers({ executions, now }: SeedOptions, series: string): string {
  const step = Math.floor(WEEK_US / executions);
  const recent = Math.floor(executions * 0.97);
  return `select i, s, started, state, at_step, doing, took
    from (
      select i, (i * 7 + (i - i % 100) / 100) % 10 as s, ${
    now * 1_000 - WEEK_US
  } + i * ${step} + i * 7919 % ${step} as started,
        case when i >= ${recent} and i % 7 = 0 then 'active'
          when i * 7919 % 1000 < 15 then 'compensated'
          when i * 7919 % 1000 < 27 then 'failed'
          when i * 7919 % 1000 < 30 then 'compensation_failed'
          when i * 7919 % 3000 = 31 then 'blocked'
          when i * 7919 % 3000 = 32 then 'stalled'
          else 'completed' end as state,
        i * 13 % 3 as at_step, (i % 70 - i % 7) / 7 as doing, 200000 + i * 104729 % 9000000 as took
      from (${series}) as series
    ) as drawn`;
}

function executions(dialect: SeedDialect, options: SeedOptions, series: string): string {
  const { instant, json, concat, text } = dialect;
  const now = options.now * 1_000;
  const isFinished = "state in ('completed', 'compensated', 'failed', 'compensation_failed')";
  const direction = "case when state in ('compensated', 'compensation_failed') or state = 'active' and doing = 8" +
    " then 'compensate' else 'execute' end";
  const isOpen = "(state = 'active' and doing < 5)";
  // Due: at the end of a lease, of a pause or a backoff, or some time ago.
  const due = `case when state = 'stalled' then started + 5000000
    when ${isOpen} then ${now} + 20000000
    when state = 'active' and doing in (5, 7, 9) then ${now} + 600000000 + i % 1000 * 1000000
    when state = 'active' and doing = 8 then ${now} - 1000000
    else null end`;
  const failure = `case when state in ('compensated', 'failed', 'compensation_failed', 'blocked')
    or state = 'active' and doing = 8
    then ${
    json(concat(`'{"class":"CardDeclined","message":"the card was declined","step":"'`, stepName("0"), `'","at":1}'`))
  }
    else null end`;
  const columns: Readonly<Record<string, string>> = {
    id: executionId(dialect),
    saga_name: sagaName(),
    saga_version: "1 + i % 2",
    resource_type: "case when i % 5 < 3 then 'order' else null end",
    resource_id: `case when i % 5 < 3 then ${concat("'order-'", "i % 300000")} else null end`,
    '"partition"': "case when i % 50 = 0 then 'priority' else 'default' end",
    input: json("'{}'"),
    parent_id: `case when i % 40 = 1 then ${concat(ID_PREFIX, digits("i - 1"))} else null end`,
    started_at: instant("started"),
    signals_seen: "0",
    epoch: "1",
    direction,
    status: `case when state = 'stalled' then 'running'
      when state = 'active' and doing = 8 then 'compensating' when state = 'active' then 'running' else state end`,
    current_step: `case when state = 'completed' then ${stepName("2")} when state in ('failed', 'compensated',
      'compensation_failed') then ${stepName("0")} else ${stepName("at_step")} end`,
    attempt: "case when state = 'active' and doing in (8, 9) then 0 else 1 end",
    attempt_started_at: `case when ${isOpen} then ${instant(`${now} - i % 300 * 100000`)} else null end`,
    owner: `case when ${isOpen} then ${concat("'worker-'", "i % 8", "'/'", "i")} else null end`,
    open_undo: `case when ${isOpen} then 'none' else null end`,
    open_kind: `case when ${isOpen} then 'step' else null end`,
    due_at: `case when ${due} is null then null else ${instant(due)} end`,
    wake_at: `case when ${due} is null then null else ${instant(due)} end`,
    resume_count: "0",
    revision: "4",
    last_progress_at: `case when ${isFinished} then ${instant("started + took")} else ${
      instant("started + took % 600000")
    } end`,
    waiting_for: `case when state = 'active' and doing = 6 then ${stepName("at_step")} else null end`,
    context: json(concat(
      `'{"orderId":"order-'`,
      "i % 300000",
      `'","cents":'`,
      "i * 37 % 100000",
      `',"customer":{"id":'`,
      "i % 5000",
      `',"country":"'`,
      "case i % 4 when 0 then 'DE' when 1 then 'FR' when 2 then 'BR' else 'JP' end",
      `'"},"reservation":{"id":"r-'`,
      "i * 31",
      `'","warehouse":"north","lines":[1,2,3]}}'`,
    )),
    failure,
    blocked_reason: "case when state = 'blocked' then 'bug' else null end",
    finished_at: `case when ${isFinished} then ${instant("started + took")} else null end`,
    duration_ms: `case when ${isFinished} then took / 1000.0 else null end`,
  };
  return text(
    `insert into saga_executions (${Object.keys(columns).join(", ")})
     select ${Object.values(columns).join(", ")} from (${numbers(options, series)}) as numbers order by i`,
  );
}

/** Rows of attempts: on which place, in which direction, which try, how it ended, and of which executions. */
const ROWS: readonly (readonly [place: number, direction: string, attempt: number, status: string, when: string])[] = [
  [
    0,
    "execute",
    1,
    "succeeded",
    "state <> 'failed' and (state not in ('active', 'blocked', 'stalled') or at_step > 0)",
  ],
  [0, "execute", 1, "failed", "state = 'failed' or state in ('active', 'blocked') and at_step = 0 and doing = 7"],
  [
    1,
    "execute",
    1,
    "succeeded",
    "(state = 'completed' or state in ('active', 'blocked', 'stalled') and at_step > 1) and i * 13 % 100 >= 4",
  ],
  [
    1,
    "execute",
    1,
    "failed",
    "state in ('compensated', 'compensation_failed') or state = 'completed' and i * 13 % 100 < 4 or state in ('active', 'blocked') and at_step = 1 and doing = 7",
  ],
  [1, "execute", 2, "succeeded", "state = 'completed' and i * 13 % 100 < 4"],
  [2, "execute", 1, "succeeded", "state = 'completed'"],
  [2, "execute", 1, "failed", "state in ('active', 'blocked') and at_step = 2 and doing = 7"],
  [0, "compensate", 1, "succeeded", "state = 'compensated'"],
  [0, "compensate", 1, "failed", "state = 'compensation_failed'"],
];

function attempts(dialect: SeedDialect, options: SeedOptions, series: string): string {
  const { instant, concat } = dialect;
  const rows = ROWS.map(([place, direction, attempt, status, when], at) =>
    `select i, s, ${place} as place, '${direction}' as direction, ${attempt} as attempt, '${status}' as status,
       started + took * ${at + 1} / 10 as began, state, doing from numbers where ${when}`
  );
  const now = options.now * 1_000;
  return insertAttempts(
    dialect,
    {
      id: concat("'a-'", "i", "'-'", "place", "'-'", "direction", "'-'", "attempt", "'-'", "status"),
      direction: "direction",
      epoch: "1",
      attempt: "attempt",
      position: "place",
      status: "status",
      started_at: instant("began"),
      finished_at: instant("began + 20000 + i * 7 % 400000"),
      duration_ms: "20 + i * 7 % 400",
      retry_at: `case when status = 'failed' and state = 'active' then ${
        instant(`${now} + 600000000 + i % 1000 * 1000000`)
      } else null end`,
    },
    {
      with: `numbers as (${numbers(options, series)})`,
      from: `(${rows.join("\n union all ")}) as ended`,
      order: "i, began",
    },
  );
}

function failuresOfTheLastHour(dialect: SeedDialect, options: SeedOptions): string {
  const { instant, concat } = dialect;
  const perHour = Math.ceil(options.executions / 168);
  const from = options.executions - perHour;
  const now = options.now * 1_000;
  const ended = `${now} - 3500000000 + (i * 9 + attempt) * 104729 % 3500000000`;
  return insertAttempts(
    dialect,
    {
      id: concat("'b-'", "i", "'-'", "attempt"),
      direction: "'execute'",
      epoch: "2",
      attempt: "attempt",
      position: "place",
      status: "status",
      started_at: instant(`${ended} - 90000`),
      finished_at: instant(ended),
      duration_ms: "90",
      retry_at: "null",
    },
    {
      with: `numbers as (${numbers(options, dialect.series(from, from + perHour))})`,
      from: `(${
        [1, 2, 3, 4, 5, 6, 7, 8, 9].map((attempt) =>
          `select i, s, 1 as place, 'execute' as direction, ${attempt} as attempt, 'failed' as status from numbers where s = 3`
        ).join(" union all ")
      }) as ended`,
      order: "i, attempt",
      errorNumber: "0",
    },
  );
}

/** An insert into the attempts; what is the same of all of them is added to the columns. */
function insertAttempts(
  { json, concat, text }: SeedDialect,
  own: Readonly<Record<string, string>>,
  source: { readonly with: string; readonly from: string; readonly order: string; readonly errorNumber?: string },
): string {
  const error = source.errorNumber ?? "(i * 11 + place) % 6";
  const ofError = (value: (error: typeof ERRORS[number]) => string) =>
    `case when status = 'failed' then case ${error} ${
      ERRORS.map((one, at) => `when ${at} then ${value(one)}`).join(" ")
    } end else null end`;
  const group = ([errorClass, , normalised]: typeof ERRORS[number]) =>
    concat(
      `'["${errorClass}","${normalised}","'`,
      sagaName(),
      `'","'`,
      stepName("place"),
      `'","'`,
      "direction",
      `'"]'`,
    );
  const columns: Readonly<Record<string, string>> = {
    ...own,
    saga_execution_id: concat(ID_PREFIX, digits("i")),
    step_name: stepName("place"),
    kind: "'step'",
    error_class: ofError(([errorClass]) => `'${errorClass}'`),
    error_message: ofError(([, message]) => message.length === 1 ? message[0]! : concat(...message)),
    error_backtrace: ofError(() =>
      "'Error\\n    at charge (file:///app/billing.ts:120:11)\\n    at run (file:///app/saga.ts:9:1)'"
    ),
    error_group: ofError(group),
    result: `case when status = 'succeeded' then ${
      json(concat(`'{"reservation":{"id":"r-'`, "i * 31", `'"}}'`))
    } else null end`,
    '"undo"': "'none'",
    '"key"': concat("'k-'", "i", "'-'", "place"),
    worker: concat("'worker-'", "i % 8"),
  };
  return text(
    `insert into saga_step_attempts (${Object.keys(columns).join(", ")})
     with ${source.with} select ${Object.values(columns).join(", ")} from ${source.from} order by ${source.order}`,
  );
}

const ID_PREFIX = "'01980000-0000-7000-8000-'";

/** The id of an execution by its number: of the length of a UUID, and in the order of starting. */
function executionId({ concat }: SeedDialect): string {
  return concat(ID_PREFIX, digits("i"));
}

function digits(number: string): string {
  return `(100000000000 + ${number})`;
}

function sagaName(): string {
  return `case s ${SAGAS.map(([name], at) => `when ${at} then '${name}'`).join(" ")} end`;
}

function stepName(place: string): string {
  const names = SAGAS.map(([, steps], saga) =>
    `when ${saga} then case ${place} ${steps.map((step, at) => `when ${at} then '${step}'`).join(" ")} end`
  );
  return `case s ${names.join(" ")} end`;
}

/** PostgreSQL's way; `schema` is a name of plain letters. */
export function postgresSeed(schema: string): SeedDialect {
  return {
    series: (from, to) => `select i from generate_series(${from}::bigint, ${to - 1}::bigint) as series (i)`,
    instant: (microseconds) => `(timestamptz 'epoch' + interval '1 microsecond' * (${microseconds}))`,
    json: (text) => `(${text})::json`,
    concat: (...parts) => `(${parts.map((part) => `(${part})`).join(" || ")})`,
    text: (sql) => sql.replace(/\bsaga_(executions|step_attempts) \(/g, (table) => `${schema}.${table}`),
  };
}

/** SQLite's way. */
export const sqliteSeed: SeedDialect = {
  series: counted,
  instant: (microseconds) => `(${microseconds})`,
  json: (text) => text,
  concat: (...parts) => `(${parts.map((part) => `(${part})`).join(" || ")})`,
  text: (sql) => sql,
};

/** MariaDB's way, and MySQL's; a session has to allow as many recursions as there are executions in a statement. */
export const mysqlSeed: SeedDialect = {
  series: counted,
  instant: (microseconds) => `(${microseconds})`,
  json: (text) => text,
  concat: (...parts) => `concat(${parts.join(", ")})`,
  text: (sql) => sql.replaceAll(/"(partition|key|undo)"/g, "`$1`").replaceAll(" / 10 as began", " div 10 as began"),
};

function counted(from: number, to: number): string {
  return `with recursive series (i) as (select ${from} union all select i + 1 from series where i < ${to - 1})
    select i from series`;
}
