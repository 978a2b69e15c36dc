/** The command palette: pages, commands, and whatever has an id, found while typing. Ctrl-K opens it. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { addressOf, ask } from "./ask.ts";
import { useLive } from "./live.ts";
import { goTo } from "./place.ts";
import { type Choice, foundIn } from "./pure/palette.ts";
import { hrefOf, hrefOfCredential, mainViews } from "./pure/route.ts";
import type { AutomationReport, RotationReport, RunReport, ScheduleReport, SimDocument } from "./pure/shapes.ts";
import { profile, profileReport, session } from "./session.ts";
import { shellText as text, themesText, viewTitles } from "./strings/shell.ts";
import { chooseTheme } from "./theme.ts";

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
  const known = useChoices();
  const sims = useSims(search.trim());
  const found = [...foundIn(known, search), ...sims];
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
    <dialog ref={dialog} class="palette" aria-label={text.palette} onClose={close}>
      <input
        class="input"
        role="combobox"
        aria-label={text.palette}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${chosen}` : undefined}
        placeholder={text.palettePlaceholder}
        spellcheck={false}
        autocomplete="off"
        value={search}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <ul id="palette-list" role="listbox" aria-label={text.palette}>
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
            <span class="quiet">{text.paletteGroups[choice.kind]}</span>
          </li>
        ))}
      </ul>
      <p class="hint" role="status">
        {found.length === 0 ? text.paletteEmpty : text.paletteHint}
      </p>
    </dialog>
  );
}

const once = { ms: 600_000 };

/** Everything that is found by its name, but SIMs. */
function useChoices(): readonly Choice[] {
  const of = { profile: profile.value };
  const runs = useLive<{ runs: RunReport[] }>(addressOf("/v1/runs", { limit: 200 }), once).value?.runs ?? [];
  const schedules = useLive<{ schedules: ScheduleReport[] }>("/v1/schedules", once).value?.schedules ?? [];
  const automations = useLive<{ automations: AutomationReport[] }>("/v1/automations", once).value?.automations ?? [];
  const rotations =
    useLive<{ rotations: RotationReport[] }>(addressOf("/v1/rotations", of), once).value?.rotations ?? [];
  const isAdmin = session.value?.me.role === "admin";
  const pages = mainViews.filter((view) => view !== "audit" || isAdmin);
  return [
    ...pages.map((view): Choice => ({ kind: "page", label: viewTitles[view], href: hrefOf(view) })),
    { kind: "page", label: text.apiReference, href: "/docs" },
    { kind: "action", label: themesText.dark, act: () => chooseTheme("dark") },
    { kind: "action", label: themesText.light, act: () => chooseTheme("light") },
    ...runs.map(({ runId, name }): Choice => ({
      kind: "run",
      label: name === "" ? runId : name,
      href: hrefOf("runs", runId),
      ...(name === "" ? {} : { hint: runId }),
    })),
    ...schedules.map(({ name }): Choice => ({ kind: "schedule", label: name, href: hrefOf("schedules") })),
    ...automations.map(({ name }): Choice => ({ kind: "automation", label: name, href: hrefOf("schedules") })),
    ...rotations.map(({ name, credentialsId }): Choice => ({
      kind: "credential",
      label: name,
      href: hrefOfCredential("rotation", name),
      ...(credentialsId === null ? {} : { hint: credentialsId }),
    })),
  ];
}

const mostSims = 6;
const pauseMs = 200;

function useSims(search: string): readonly Choice[] {
  const [sims, setSims] = useState<readonly Choice[]>([]);
  const keyColumn = profileReport.value?.wording === "subscribers" ? "imsi" : "simId";
  useEffect(() => {
    setSims([]);
    // Shorter texts are in nearly every id.
    if (!/^[\w-]{4,}$/.test(search) || !/\d/.test(search)) return undefined;
    const stop = new AbortController();
    const query = { profile: profile.value, search, limit: mostSims };
    const find = async (): Promise<void> => {
      const page = await ask<{ sims: SimDocument[] }>("/v1/sims", { query, signal: stop.signal });
      const found = page.sims.map((sim): Choice => {
        const key = String(sim[keyColumn]);
        return { kind: "sim", label: key, href: hrefOf("sims", key) };
      });
      const all: Choice = { kind: "sim", label: text.findSims(search), href: hrefOf("sims", undefined, { search }) };
      setSims(found.length < 2 ? found : [...found, all]);
    };
    const timer = setTimeout(() => void find().catch(() => undefined), pauseMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [search, keyColumn]);
  return sims;
}
