/** The command palette: pages, commands, and whatever has an id, found while typing. Ctrl-K opens it. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { goTo } from "../place.ts";
import { type Choice, choiceKinds } from "../pure/palette.ts";
import { useSearch } from "./search.ts";

export const isPaletteOpen = signal(false);

export function Palette(): JSX.Element | null {
  return isPaletteOpen.value ? <OpenPalette /> : null;
}

function OpenPalette(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [search, setSearch] = useState("");
  const [at, setAt] = useState(0);
  // Before the next key, which belongs to the search.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const { found, problem, isSearching } = useSearch(search);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => document.querySelector(`#palette-${chosen}`)?.scrollIntoView({ block: "nearest" }), [chosen]);
  const close = (): void => {
    dialog.current?.close();
    isPaletteOpen.value = false;
  };
  const open = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    close();
    choice.act?.();
    if (choice.href?.startsWith("#") === true) goTo(choice.href);
    else if (choice.href !== undefined) location.assign(choice.href);
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((chosen + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") open(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Search and commands" onClose={close}>
      <input
        class="input"
        role="combobox"
        aria-label="Search and commands"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${chosen}` : undefined}
        placeholder="Page, SIM ID, IMSI, run, schedule, credential …"
        spellcheck={false}
        autocomplete="off"
        value={search}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <ul id="palette-list" role="listbox" aria-label="Search and commands">
        {found.map((choice, i) => (
          <li
            key={`${choice.kind} ${choice.label} ${choice.hint ?? ""}`}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === chosen}
            onPointerMove={() => setAt(i)}
            onClick={() => open(choice)}
          >
            <span>
              {choice.label} {choice.hint !== undefined && <span class="quiet">{choice.hint}</span>}
            </span>
            <span class="quiet">{choiceKinds[choice.kind]}</span>
          </li>
        ))}
      </ul>
      <p class={problem === undefined ? "hint" : "fault"} role="status">
        {problem === undefined
          ? found.length > 0
            ? "↑ ↓ to choose, Enter to open, Esc to close"
            : isSearching
              ? "Searching …"
              : "Nothing found."
          : `The search is incomplete: ${problem.message}`}
      </p>
    </dialog>
  );
}
