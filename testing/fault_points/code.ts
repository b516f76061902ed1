/** User code whose calls pass through points: the steps of a definition, and what they are handed. */

import type { Definition, StepCode } from "../../src/definition/definition.ts";
import { FaultInjected, type Points } from "./points.ts";

/**
 * The definition with points around the code of its steps, its undos, and what loads its resource. A workflow's function
 * has none: it only names the steps, and a pass that is lost with its process leaves nothing behind.
 */
export function definitionThrough<D extends Definition>(points: Points, definition: D): D {
  const through = (name: string, code: StepCode["run"]): StepCode["run"] =>
    code === null ? null : (scope) => points.around(name, async () => await code(scope), lost);
  const stepThrough = (step: string, { run, undo, schema }: StepCode): StepCode => ({
    run: through(`step.${step}.run`, run),
    undo: through(`step.${step}.undo`, undo),
    schema,
  });
  const code = new Map([...definition.code].map(([step, own]) => [step, stepThrough(step, own)]));
  const wrap: Definition["wrap"] = definition.kind === "workflow"
    ? (step, own) => stepThrough(step, definition.wrap?.(step, own) ?? own)
    : null;
  const load = definition.loadResource;
  const loadResource: Definition["loadResource"] = load === null
    ? null
    : (reference, resources) => points.around("resource.load", async () => await load(reference, resources), lost);
  return { ...definition, code, wrap, loadResource };
}

/** Services deeper than this, `payments.stripe.charges.create`, are handed out as they are. */
const MAX_DEPTH = 3;

/** The resources with points around their functions, however they are nested. */
export function resourcesThrough<R>(points: Points, resources: R): R {
  return wrapped(resources, "resources", MAX_DEPTH) as R;

  function wrapped(value: unknown, path: string, depth: number): unknown {
    if (!isService(value) || depth === 0) return value;
    const seen = new Map<PropertyKey, { readonly from: unknown; readonly to: unknown }>();
    // A stand-in, since what is frozen may not be answered for with anything else.
    return new Proxy(Object.create(Object.getPrototypeOf(value)), {
      get(_standIn, property) {
        // The service itself is `this`, not its proxy: private fields are not to be had through one.
        const from = Reflect.get(value, property, value);
        const known = seen.get(property);
        if (known !== undefined && known.from === from) return known.to;
        const name = `${path}.${String(property)}`;
        const to = typeof property === "symbol"
          ? from
          : typeof from === "function"
          ? called(value, from as Callable, name)
          : wrapped(from, name, depth - 1);
        seen.set(property, { from, to });
        return to;
      },
      set: (_standIn, property, to) => Reflect.set(value, property, to, value),
      has: (_standIn, property) => Reflect.has(value, property),
      ownKeys: () => Reflect.ownKeys(value),
      getOwnPropertyDescriptor(_standIn, property) {
        const own = Reflect.getOwnPropertyDescriptor(value, property);
        return own === undefined ? undefined : { ...own, configurable: true };
      },
    });
  }

  function called(service: object, code: Callable, name: string): Callable {
    const isAsync = code.constructor.name === "AsyncFunction";
    return new Proxy(code, {
      apply(_code, _this, args) {
        const call = () => points.call(name, () => Reflect.apply(code, service, args), lost);
        return isAsync ? Promise.resolve().then(call) : call();
      },
    });
  }
}

type Callable = (...args: never[]) => unknown;

/** Whether it is an object of functions, and not a value: those are handed out as they are. */
function isService(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !VALUES.some((one) => value instanceof one) && !ArrayBuffer.isView(value);
}

const VALUES = [Date, RegExp, Map, Set, WeakMap, WeakSet, Promise, Error, ArrayBuffer, URL] as const;

function lost(point: string): FaultInjected {
  return new FaultInjected(`Cannot go on: the connection was lost, by the fault at ${point}`);
}
