/** The screens by their paths, within the console. */

import { type Context, Hono } from "hono";
import type { Engine } from "../src/engine/engine.ts";
import type { Queries } from "../src/queries.ts";
import { goTo, json, page, problem, refreshed, streamed, text } from "./answer.ts";
import { assetPath } from "./asset_files.ts";
import type { Visit } from "./console.ts";
import { act, ACTION_NAMES, isActionName } from "./act.ts";
import type { ConsoleSettings } from "./options.ts";
import { idsAt, numberAt, rangeOf, sortOf, textAt } from "./parameters.ts";
import { readBulk } from "./reads/bulk_reads.ts";
import { detailReads, shownRecord } from "./reads/detail_reads.ts";
import { readDoctor } from "./reads/doctor_reads.ts";
import { type ListRequest, readList, rowPages } from "./reads/list_reads.ts";
import { mapReads } from "./reads/map_reads.ts";
import { csvOf, detailText, doctorText, jsonOf, listText, mapText } from "./text_twins.ts";
import { Renewals } from "./reads/renewals.ts";
import { slowReads } from "./reads/slow_reads.ts";
import { ActionForm, keepable } from "./view/action_form.tsx";
import { BulkNote, BulkScreen } from "./view/bulk.tsx";
import { type DoctorModel, DoctorScreen } from "./view/doctor.tsx";
import { ExecutionScreen } from "./view/execution.tsx";
import { changesOf } from "./view/changes.ts";
import { canonical, ExecutionsScreen, PlainField } from "./view/executions.tsx";
import { parseFilter } from "./view/filter.ts";
import { executionHref, query } from "./view/href.ts";
import { type Frame, Message, Page } from "./view/layout.tsx";
import { MapScreen } from "./view/map.tsx";
import type { RefreshModel } from "./view/model.ts";

type Env = { Bindings: { visit: Visit } };

const PAGE_LIMIT = 50;
const MAX_PAGE = 1_000;

/** Routes of an engine's console. Access for reading has been granted before any of them is asked. */
export function routes(engine: Engine, queries: Queries, settings: ConsoleSettings): Hono<Env> {
  const sources = { engine, queries, settings };
  const renewals = new Renewals();
  const slow = slowReads(queries, renewals);
  const map = mapReads(sources, { slow, renewals });
  const detail = detailReads(sources, slow);
  const app = new Hono<Env>({
    getPath: (_request, options) => (options?.env as Env["Bindings"]).visit.path,
  });
  app.use(async (_context, next) => {
    await next();
    void renewals.begin();
  });
  const frame = (context: Context<Env>): Frame => ({
    title: settings.title,
    base: context.env.visit.base,
    self: selfOf(context),
    assets: assetPath(""),
    pollInterval: settings.pollInterval,
    readOnly: settings.readOnly,
  });

  app.get("/", async (context) => {
    const model = await map.map(rangeOf(context));
    return await page(
      context.req.raw,
      (
        <Page {...frame(context)} heading="Map" screen="map" data={model}>
          <MapScreen model={model} live={null} />
        </Page>
      ),
    );
  });
  app.get("/map.txt", async (context) => await text(context.req.raw, mapText(await map.map(rangeOf(context)))));
  app.get("/map.json", async (context) => await json(context.req.raw, await map.map(rangeOf(context))));
  app.get("/api/map", async (context) => await refreshed(context.req.raw, await map.map(rangeOf(context))));
  app.get("/api/recent", async (context) => {
    const since = numberAt(context, "since", { min: 0, max: 8.64e15 });
    const replayFrom = numberAt(context, "replay_from", { min: 0, max: 8.64e15 }, since);
    const whole = await map.refresh(rangeOf(context), since, replayFrom);
    const changes: RefreshModel = { ...whole, map: changesOf(whole.map, textAt(context, "have")) };
    return await refreshed(context.req.raw, changes, whole);
  });

  const listRequest = (context: Context<Env>): ListRequest => ({
    q: textAt(context, "q"),
    sort: sortOf(context),
    cursor: textAt(context, "cursor") || null,
    limit: numberAt(context, "limit", { min: 1, max: MAX_PAGE }, PAGE_LIMIT),
  });
  app.get("/executions", async (context) => {
    const asked = listRequest(context);
    const more = textAt(context, "more").trim();
    if (more !== "") return goTo(await refined(engine, asked, more));
    const model = await readList(sources, asked);
    const { access } = context.env.visit;
    const bulk = (await access.allowed()).filter((one) => one === "retry" || one === "compensate");
    return await page(
      context.req.raw,
      (
        <Page {...frame(context)} heading="Executions" screen="executions" data={{ model, bulk }}>
          <ExecutionsScreen model={model} live={null} field={<PlainField q={model.q} />} bulk={bulk} />
        </Page>
      ),
      { status: model.problem === null ? 200 : 400 },
    );
  });
  app.get("/api/executions", async (context) => {
    const model = await readList(sources, listRequest(context));
    return model.problem === null
      ? await refreshed(context.req.raw, model)
      : await problem(context.req.raw, 400, model.problem);
  });
  app.get("/api/names", async (context) => await refreshed(context.req.raw, { now: 0, ...await queries.names() }));
  app.get("/executions.txt", async (context) => {
    const model = await readList(sources, listRequest(context));
    return await text(context.req.raw, listText(model), { status: model.problem === null ? 200 : 400 });
  });
  app.get("/executions.json", async (context) => {
    const pages = await rowPages(sources, listRequest(context));
    if (pages.kind === "problem") return await problem(context.req.raw, 400, pages.message);
    return streamed(context.req.raw, jsonOf(pages.pages), "application/json");
  });
  app.get("/executions.csv", async (context) => {
    const pages = await rowPages(sources, listRequest(context));
    if (pages.kind === "problem") return await problem(context.req.raw, 400, pages.message);
    return streamed(context.req.raw, csvOf(pages.pages), "text/csv; charset=utf-8", {
      headers: { "content-disposition": 'attachment; filename="executions.csv"' },
    });
  });

  app.get("/executions/:id", async (context) => {
    const model = await detail(context.req.param("id"), await context.env.visit.access.allowed());
    if (model === null) return await missing(context);
    return await page(
      context.req.raw,
      (
        <Page {...frame(context)} heading={`${model.row.saga} ${model.row.id}`} screen="execution" data={model}>
          <ExecutionScreen model={model} live={null} />
        </Page>
      ),
    );
  });
  app.get("/api/executions/:id", async (context) => {
    const model = await detail(context.req.param("id"), await context.env.visit.access.allowed());
    return model === null ? await problem(context.req.raw, 404, NO_EXECUTION) : await refreshed(context.req.raw, model);
  });
  app.get("/executions/:id/execution.txt", async (context) => {
    const model = await detail(context.req.param("id"), []);
    return model === null
      ? await text(context.req.raw, `${NO_EXECUTION}\n`, { status: 404 })
      : await text(context.req.raw, detailText(model));
  });
  app.get("/executions/:id/execution.json", async (context) => {
    const [record] = await engine.store.load([context.req.param("id")]);
    return record === null || record === undefined
      ? await problem(context.req.raw, 404, NO_EXECUTION)
      : await json(context.req.raw, shownRecord(record, settings));
  });

  app.get("/executions/:id/:action", async (context) => {
    const { id, action: name } = context.req.param();
    const model = await detail(id, await context.env.visit.access.allowed());
    const action = model?.actions.find((one) => one.action === name);
    if (model === null || !isActionName(name)) return await missing(context);
    if (action === undefined) return await problem(context.req.raw, 403, `You may not ${name} executions`);
    return await page(
      context.req.raw,
      (
        <Page {...frame(context)} heading={action.label} screen="confirm" data={{ model, action }}>
          <p class="quiet">
            {`${model.row.saga} `}
            <a class="mono" href={executionHref(id)}>{id}</a>
          </p>
          {action.refused === null ? null : <p class="notice bad" role="alert">{`Not now: ${action.refused}`}</p>}
          <div class="panel" id="confirm">
            <ActionForm
              action={action}
              waitingFor={model.waitingFor}
              steps={keepable(model)}
              problem={null}
              isBusy={action.refused !== null}
              send={null}
              cancel={<a class="button" href={executionHref(id)}>Cancel</a>}
            />
          </div>
          <noscript>
            <p class="notice">
              {"Without a script the browser cannot send this safely. From a terminal, with your login: "}
              <code>
                {`curl -X POST -H 'Content-Type: application/json' -H 'X-Leveret: 1' -H 'Origin: ${
                  settings.origins[0] ?? new URL(context.req.url).origin
                }' -d '{"reason":"…"}' …/api/executions/${encodeURIComponent(id)}/${name}`}
              </code>
            </p>
          </noscript>
        </Page>
      ),
    );
  });
  for (const name of ACTION_NAMES) {
    app.post(
      `/api/executions/:id/${name}`,
      (context) =>
        act(engine, settings, {
          request: context.req.raw,
          id: context.req.param("id"),
          name,
          access: context.env.visit.access,
        }),
    );
    app.all(
      `/api/executions/:id/${name}`,
      async (context) =>
        await json(context.req.raw, { error: "Actions are posted" }, { status: 405, headers: { allow: "POST" } }),
    );
  }

  app.get("/bulk", async (context) => {
    const action = textAt(context, "action");
    if (action !== "retry" && action !== "compensate") return await missing(context);
    if (!await context.env.visit.access.may(action)) {
      return await problem(context.req.raw, 403, `You may not ${action} executions`);
    }
    const picked = idsAt(context);
    if (picked !== null && picked.length === 0) {
      return goTo(`executions${query({ q: textAt(context, "q") })}`);
    }
    const model = await readBulk(sources, action, { q: textAt(context, "q"), picked });
    return await page(
      context.req.raw,
      (
        <Page
          {...frame(context)}
          heading={action === "retry" ? "Retry many" : "Compensate many"}
          screen="bulk"
          data={model}
        >
          <BulkScreen model={model}>
            <BulkNote />
          </BulkScreen>
        </Page>
      ),
      { status: model.problem === null ? 200 : 400 },
    );
  });

  app.get("/doctor", async (context) => {
    const model = await readDoctor(sources, reachedAs(context));
    return await page(
      context.req.raw,
      (
        <Page {...frame(context)} heading="Doctor" screen="doctor">
          <DoctorScreen model={model} />
        </Page>
      ),
      { status: doctorStatus(model) },
    );
  });
  app.get("/doctor.txt", async (context) => {
    const model = await readDoctor(sources, reachedAs(context));
    return await text(context.req.raw, doctorText(model), { status: doctorStatus(model) });
  });
  app.get("/doctor.json", async (context) => {
    const model = await readDoctor(sources, reachedAs(context));
    return await json(context.req.raw, model, { status: doctorStatus(model) });
  });

  async function missing(context: Context<Env>): Promise<Response> {
    const back = { href: "executions", word: "To the list of executions" };
    return await page(
      context.req.raw,
      (
        <Page {...frame(context)} heading="Not found" screen="error">
          <Message
            heading="There is no such page"
            text="The execution may have been pruned, or the address may be mistyped."
            back={back}
          />
        </Page>
      ),
      { status: 404 },
    );
  }
  app.notFound((context) =>
    context.env.visit.path.startsWith("/api/")
      ? problem(context.req.raw, 404, "There is no such address")
      : missing(context)
  );
  // Errors are answered by whoever asked, where the whole of the request is known.
  app.onError((error) => {
    throw error;
  });
  return app;
}

function doctorStatus({ workers }: DoctorModel): 200 | 503 {
  return workers === null ? 503 : 200;
}

const NO_EXECUTION = "There is no execution with this id";

function reachedAs(context: Context<Env>): { readonly request: Request; readonly base: string } {
  return { request: context.req.raw, base: context.env.visit.base };
}

/** Path and query within the console, as a reference relative to its mount point. */
function selfOf(context: Context<Env>): string {
  const { path } = context.env.visit;
  return `${path === "/" ? "./" : path.slice(1)}${new URL(context.req.url).search}`;
}

/** Where what was typed into the field leads: to an execution, if it is the id of one, or to the narrower list. */
async function refined(engine: Engine, { q, sort }: ListRequest, more: string): Promise<string> {
  const parsed = parseFilter(more);
  const only = parsed.kind === "terms" && parsed.terms.length === 1 ? parsed.terms[0]! : null;
  if (only?.key === "id") {
    const [status] = await engine.store.status([only.value]);
    if (status !== null && status !== undefined) return executionHref(status.id);
  }
  const both = canonical(`${q} ${more}`.trim());
  return `executions${query({ q: both, sort: sort === "-started" ? "" : sort })}`;
}
