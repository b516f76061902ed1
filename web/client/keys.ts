/** The keyboard: `/` to the filter, `g m` and `g e` to the screens, `?` for the list of these. */

const HELP = [
  ["/", "to the filter of the executions"],
  ["g m", "to the map"],
  ["g e", "to the executions"],
  ["g d", "to the doctor"],
  ["?", "this list"],
] as const;

/** Listens. */
export function startKeys(): void {
  let first = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const chord = `${first}${event.key}`;
    first = event.key === "g" && first === "" ? "g" : "";
    if (run(chord)) event.preventDefault();
  });
}

function run(chord: string): boolean {
  switch (chord) {
    case "/":
      return toFilter();
    case "gm":
      return goTo("./");
    case "ge":
      return goTo("executions");
    case "gd":
      return goTo("doctor");
    case "?":
      return help();
    default:
      return false;
  }
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement &&
    (target.matches("input, textarea, select") || document.querySelector("dialog[open]") !== null);
}

function goTo(path: string): boolean {
  location.assign(new URL(path, document.baseURI));
  return true;
}

function toFilter(): boolean {
  const field = document.querySelector<HTMLInputElement>(".filter input[name=more]");
  if (field === null) return goTo("executions#filter");
  field.focus();
  return true;
}

function help(): boolean {
  const dialog = document.createElement("dialog");
  const title = document.createElement("h2");
  title.textContent = "Keys";
  const list = document.createElement("dl");
  list.className = "shortcuts";
  for (const [keys, means] of HELP) {
    const row = document.createElement("div");
    const term = document.createElement("dt");
    const definition = document.createElement("dd");
    const key = document.createElement("kbd");
    key.textContent = keys;
    term.append(key);
    definition.textContent = means;
    row.append(term, definition);
    list.append(row);
  }
  const close = document.createElement("button");
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  dialog.setAttribute("aria-label", "Keys");
  dialog.className = "form";
  dialog.append(title, list, close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return true;
}
