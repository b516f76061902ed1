/** The field of the filter, with completion. */

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { valueOfClass } from "../view/error_value.ts";
import { FILTER_KEYS, STATUSES, termText } from "../view/filter.ts";

interface Names {
  readonly sagas: readonly { readonly name: string; readonly steps: readonly { readonly name: string }[] }[];
  readonly partitions: readonly string[];
  readonly resourceTypes: readonly string[];
  readonly errorClasses: readonly string[];
}

interface Option {
  /** What the last word becomes. */
  readonly text: string;
  readonly means: string;
}

const MAX_OPTIONS = 12;
const LIST_ID = "completions";

/** An input that offers what the word before the cursor may become. */
export function FilterField({ saga, typed }: {
  readonly saga: string | undefined;
  /** What was typed before, and could not be understood. */
  readonly typed: string;
}): VNode {
  const [value, setValue] = useState(typed);
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const [names, setNames] = useState<Names | null>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (location.hash === "#filter") input.current?.focus();
  }, []);
  useEffect(() => {
    if (!isOpen || names !== null) return;
    void fetch("api/names", { cache: "no-store" }).then(async (response) => {
      if (response.ok) setNames(await response.json());
    }, () => {});
  }, [isOpen]);

  const options = isOpen ? optionsFor(value, names, saga) : [];
  const take = (option: Option) => {
    setValue(
      value.replace(/(?:[^\s"]|"[^"]*"?)*$/, "") + option.text +
        (option.text.endsWith(":") || option.text.endsWith(".") ? "" : " "),
    );
    setChosen(-1);
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      const by = event.key === "ArrowDown" ? 1 : -1;
      setChosen(
        options.length === 0 ? -1 : (chosen + by + options.length + (chosen < 0 && by < 0 ? 1 : 0)) % options.length,
      );
    } else if (event.key === "Enter" && chosen >= 0 && options[chosen] !== undefined) {
      event.preventDefault();
      take(options[chosen]);
    } else if (event.key === "Escape") setOpen(false);
  };
  return (
    <>
      <input
        ref={input}
        name="more"
        aria-label="Add a condition, or paste an id"
        placeholder="saga: status: step: error: resource: ctx.path: stalled, or an id"
        autocomplete="off"
        spellcheck={false}
        role="combobox"
        aria-expanded={options.length > 0}
        aria-controls={LIST_ID}
        aria-activedescendant={chosen < 0 ? undefined : `${LIST_ID}-${chosen}`}
        value={value}
        onInput={(event) => {
          setValue(event.currentTarget.value);
          setOpen(true);
          setChosen(-1);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      <ul class="options" id={LIST_ID} role="listbox" aria-label="Completions" hidden={options.length === 0}>
        {options.map((option, at) => (
          <li
            key={option.text}
            id={`${LIST_ID}-${at}`}
            role="option"
            aria-selected={at === chosen}
            onMouseDown={(event) => {
              event.preventDefault();
              take(option);
            }}
          >
            <span class="mono">{option.text}</span>
            <span class="quiet">{option.means}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function optionsFor(text: string, names: Names | null, saga: string | undefined): readonly Option[] {
  const word = /(?:[^\s"]|"[^"]*"?)*$/.exec(text)?.[0] ?? "";
  const colon = word.indexOf(":");
  if (colon < 0) {
    return FILTER_KEYS.filter(({ key }) => key.startsWith(word)).map(({ key, means }) => ({
      text: key === "stalled" || key === "ctx." ? key : `${key}:`,
      means,
    }));
  }
  const key = word.slice(0, colon);
  const begun = word.slice(colon + 1).replaceAll('"', "").toLowerCase();
  return valuesOf(key, names, saga).filter((value) => value.toLowerCase().includes(begun)).slice(0, MAX_OPTIONS)
    .map((value) => ({ text: key === "resource" ? `resource:${value}/` : termText({ key, value }), means: "" }));
}

function valuesOf(key: string, names: Names | null, saga: string | undefined): readonly string[] {
  switch (key) {
    case "status":
      return STATUSES;
    case "since":
      return ["1h", "24h", "7d"];
    case "saga":
      return names?.sagas.map(({ name }) => name) ?? [];
    case "step":
      return [
        ...new Set(
          (names?.sagas ?? []).filter(({ name }) => saga === undefined || name === saga)
            .flatMap(({ steps }) => steps.map(({ name }) => name)),
        ),
      ];
    case "partition":
      return names?.partitions ?? [];
    case "resource":
      return names?.resourceTypes ?? [];
    case "error":
      return (names?.errorClasses ?? []).map(valueOfClass);
    default:
      return [];
  }
}
