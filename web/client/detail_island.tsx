/** One execution, alive, with its actions in a dialog. */

import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ActionForm, keepable } from "../view/action_form.tsx";
import { ExecutionScreen } from "../view/execution.tsx";
import { executionHref } from "../view/href.ts";
import type { ActionModel, DetailModel, WayStep } from "../view/model.ts";
import { wayAt } from "../view/way.ts";
import { Refresher } from "./refresher.ts";
import { Replay } from "./replay.tsx";
import { bodyOf, send } from "./send.ts";
import { onPace, pickedInterval } from "./top_bar.ts";

/** The screen. */
export function DetailIsland({ first }: { readonly first: DetailModel }): VNode {
  const [model, setModel] = useState(first);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [interval, setPace] = useState(pickedInterval);
  const [isHydrated, setHydrated] = useState(false);
  const [action, setAction] = useState<ActionModel | null>(null);
  const [said, setSaid] = useState<{ readonly isGood: boolean; readonly text: string } | null>(null);
  // Null: as it is now, whatever comes.
  const [at, setAt] = useState<number | null>(null);
  const refresher = useMemo(() =>
    new Refresher<DetailModel>({
      interval,
      now: first.now,
      address: () => `api/${executionHref(first.row.id)}`,
      take(news, { now }) {
        setTrouble(null);
        setModel((before) => news === null ? { ...before, now } : news);
      },
      fail: setTrouble,
    }), []);
  useEffect(() => setHydrated(true), []);
  useEffect(() =>
    onPace((seconds) => {
      setPace(seconds);
      refresher.pace(seconds);
    }), []);
  const way = at === null ? model.way : wayAt(model.way, model.attempts, at);
  const place = placeOn(way);
  useEffect(() => showPlace(place), [place]);
  const live = {
    interval,
    now: model.now,
    clock: () => refresher.clock(),
    trouble,
    act: setAction,
    copy: () => {
      navigator.clipboard.writeText(JSON.stringify(model.attempts, null, 2)).then(
        () => setSaid({ isGood: true, text: "The attempts are in the clipboard, as JSON." }),
        () => setSaid({ isGood: false, text: "The browser does not let this page copy: it has to come by https." }),
      );
    },
    replay: <Replay attempts={model.attempts} at={at} move={setAt} />,
    way,
    said,
  };
  return (
    <>
      <ExecutionScreen model={model} live={isHydrated ? live : null} />
      {action === null ? null : (
        <ActionDialog
          action={action}
          model={model}
          close={(text) => {
            setAction(null);
            if (text !== null) setSaid({ isGood: true, text });
            void refresher.refresh();
          }}
        />
      )}
    </>
  );
}

/** Where on its line an execution is or came to grief; -1 for nowhere in particular. */
function placeOn(way: readonly WayStep[]): number {
  const now = way.findIndex(({ isNow }) => isNow);
  return now >= 0 ? now : way.findIndex(({ mark }) => mark === "failed" || mark === "compensation_failed");
}

/** A line may be longer than the page is wide: what it is about is brought into view, and the page stays where it is. */
function showPlace(place: number): void {
  const line = document.querySelector<HTMLElement>(".way");
  const step = line?.children[place];
  if (line === null || step === undefined) return;
  const [around, within] = [line.getBoundingClientRect(), step.getBoundingClientRect()];
  if (within.left >= around.left && within.right <= around.right) return;
  line.scrollLeft += within.left - around.left - (around.width - within.width) / 2;
}

function ActionDialog({ action, model, close }: {
  readonly action: ActionModel;
  readonly model: DetailModel;
  readonly close: (text: string | null) => void;
}): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={action.label} onClose={() => close(null)}>
      <SentForm
        action={action}
        model={model}
        done={close}
        cancel={<button type="button" onClick={() => dialog.current?.close()}>Cancel</button>}
      />
    </dialog>
  );
}

/** The form, with what sends it. */
export function SentForm({ action, model, done, cancel }: {
  readonly action: ActionModel;
  readonly model: DetailModel;
  readonly done: (text: string) => void;
  readonly cancel: VNode;
}): VNode {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const { id, epoch } = model.row;
  const submit = async (fields: Readonly<Record<string, string>>) => {
    const made = bodyOf(action.action, fields, epoch);
    if ("problem" in made) {
      setProblem(made.problem);
      return;
    }
    setBusy(true);
    const sent = await send(id, action.action, made.body);
    setBusy(false);
    if (!sent.isDone) setProblem(sent.message);
    else if (action.action === "rerun" && sent.body.created === true) {
      location.assign(new URL(executionHref(String(sent.body.id)), document.baseURI));
    } else done(`Done: ${action.label.split(":")[0]!.toLowerCase()}.`);
  };
  return (
    <ActionForm
      action={action}
      waitingFor={model.waitingFor}
      steps={keepable(model)}
      problem={problem}
      isBusy={isBusy || action.refused !== null}
      send={(fields) => void submit(fields)}
      cancel={cancel}
    />
  );
}
