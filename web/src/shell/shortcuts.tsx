/** The keyboard shortcuts, and their list. Those of a single key can be turned off, as some input methods need. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "../parts/form/button.tsx";
import { Tick } from "../parts/form/field.tsx";
import { isPaletteOpen } from "./palette.tsx";
import { goTo } from "../place.ts";
import { type View, hrefOf, viewTitles } from "../pure/route.ts";
import { session } from "../session.ts";

/** After `g`. */
const pages: Readonly<Record<string, View>> = {
  o: "overview",
  s: "sims",
  r: "runs",
  h: "schedules",
  c: "credentials",
  q: "quota",
  a: "activity",
};

const keysText = [
  ["Ctrl K", "search and commands; ⌘ K on a Mac"],
  ["?", "this list"],
  ["/", "search"],
  ["n", "new run"],
  ...Object.entries(pages).map(([key, view]) => [`g ${key}`, viewTitles[view]] as const),
  ["Esc", "close a dialog or a menu"],
] as const;

const kept = "simfleet.keys";
const isOn = signal(localStorage.getItem(kept) !== "off");
const isListOpen = signal(false);

const sequenceMs = 1_500;

export function followKeys(): void {
  let goAtMs = Number.NEGATIVE_INFINITY;
  addEventListener("keydown", (event) => {
    if (session.value === undefined) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      isPaletteOpen.value = true;
      return;
    }
    if (!isOn.value || event.ctrlKey || event.metaKey || event.altKey || isBusy(event.target)) return;
    const page = performance.now() - goAtMs < sequenceMs ? pages[event.key] : undefined;
    goAtMs = event.key === "g" ? performance.now() : Number.NEGATIVE_INFINITY;
    if (page !== undefined) goTo(hrefOf(page));
    else if (event.key === "?") isListOpen.value = true;
    else if (event.key === "n") goTo(hrefOf("new"));
    else if (event.key === "/") isPaletteOpen.value = true;
    else return;
    event.preventDefault();
  });
}

/** While a user writes, or a dialog is open, a key is no shortcut. */
function isBusy(target: EventTarget | null): boolean {
  return (
    document.querySelector("dialog[open]") !== null ||
    (target instanceof Element && target.matches("input, select, textarea"))
  );
}

export function ShortcutList(): JSX.Element | null {
  return isListOpen.value ? <OpenList /> : null;
}

function OpenList(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => {
    dialog.current?.close();
    isListOpen.value = false;
  };
  return (
    <dialog ref={dialog} aria-labelledby="shortcuts-title" onClose={close}>
      <h2 id="shortcuts-title">Shortcuts</h2>
      <dl class="facts keys">
        {keysText.map(([keys, does]) => (
          <>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </>
        ))}
      </dl>
      <Tick
        label="Single-key shortcuts"
        hint="Ctrl K always works."
        isOn={isOn.value}
        onChange={(on) => {
          isOn.value = on;
          localStorage.setItem(kept, on ? "on" : "off");
        }}
      />
      <div class="actions">
        <Button onPress={close}>Close</Button>
      </div>
    </dialog>
  );
}

export function showShortcuts(): void {
  isListOpen.value = true;
}
