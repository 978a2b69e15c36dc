/** Sources of the command palette: pages, actions, and everything with a name or an ID. */
import { useEffect, useState } from "preact/hooks";
import { addressOf, ask } from "../ask.ts";
import { type Live, useLive } from "../live.ts";
import { splitAtIds } from "../pure/ids.ts";
import { type Choice, foundIn } from "../pure/palette.ts";
import { type Problem, problemFrom } from "../pure/problem.ts";
import { activityTabs, hrefOf, hrefOfCredential, hrefOfId, mainViews, viewTitles } from "../pure/route.ts";
import type {
  AuthKeyReport,
  AutomationReport,
  RotationReport,
  RunReport,
  ScheduleReport,
  SetReport,
  SimDocument,
} from "../pure/shapes.ts";
import { keyColumn, profile, session } from "../session.ts";
import { themesText, chooseTheme } from "../theme.ts";

interface Found {
  readonly found: readonly Choice[];
  /** Why some of it may be missing. */
  readonly problem: Problem | undefined;
  /** More may be found. */
  readonly isSearching: boolean;
}

function isPending({ value, problem }: Pick<Live<object>, "value" | "problem">): boolean {
  return value === undefined && problem === undefined;
}

/** @param search the text as typed */
export function useSearch(search: string): Found {
  const named = useNamed();
  const credentials = useCredentials(search.trim());
  const sims = useSims(search.trim());
  const known = foundIn([...pages(), ...named.found, ...credentials.found], search);
  return {
    found: [...known, ...idIn(search, known), ...sims.found],
    problem: named.problem ?? sims.problem,
    isSearching: [named, credentials, sims].some((part) => part.isSearching),
  };
}

function pages(): readonly Choice[] {
  const isAdmin = session.value?.me.role === "admin";
  const tabs = Object.entries(activityTabs).filter(([tab]) => tab !== "audit" || isAdmin);
  const all = [
    ...[...mainViews, "new" as const].map((view) => [viewTitles[view], hrefOf(view)] as const),
    ...tabs.map(([tab, label]) => [label, hrefOf("activity", tab)] as const),
    ["Freezes", hrefOf("schedules", "freezes")] as const,
    ["Webhooks", hrefOf("schedules", "webhooks")] as const,
    ["API reference", "/docs"] as const,
  ];
  return [
    ...all.map(([label, href]): Choice => ({ kind: "page", label, href })),
    { kind: "action", label: themesText.dark, act: () => chooseTheme("dark") },
    { kind: "action", label: themesText.light, act: () => chooseTheme("light") },
  ];
}

/** An ID that is older than the lists. */
function idIn(search: string, known: readonly Choice[]): readonly Choice[] {
  const id = splitAtIds(search)[1];
  if (id === undefined || known.length > 0) return [];
  return [{ kind: id.startsWith("r-") ? "run" : "events", label: id, href: hrefOfId(id) }];
}

const once = { ms: 600_000 };

/** Objects that the worker stores, except SIMs. */
function useNamed(): Found {
  const runs = useLive<{ runs: RunReport[] }>(addressOf("/v1/runs", { limit: 200 }), once);
  const schedules = useLive<{ schedules: ScheduleReport[] }>("/v1/schedules", once);
  const automations = useLive<{ automations: AutomationReport[] }>("/v1/automations", once);
  const rotations = useLive<{ rotations: RotationReport[] }>(
    addressOf("/v1/rotations", { profile: profile.value }),
    once,
  );
  const problem = runs.problem ?? schedules.problem ?? automations.problem ?? rotations.problem;
  const found: readonly Choice[] = [
    ...(runs.value?.runs ?? []).map(({ runId, name }): Choice => {
      const label = name === "" ? { label: runId } : { label: name, hint: runId };
      return { kind: "run", ...label, href: hrefOf("runs", runId) };
    }),
    ...(schedules.value?.schedules ?? []).map(({ name }) => ofSchedules("schedule", name)),
    ...(automations.value?.automations ?? []).map(({ name }) => ofSchedules("automation", name)),
    ...(rotations.value?.rotations ?? []).map(({ name, credentialsId }): Choice => {
      const hint = credentialsId === null ? {} : { hint: credentialsId };
      return { kind: "rotation", label: name, ...hint, href: hrefOfCredential("rotation", name) };
    }),
  ];
  return { found, problem, isSearching: [runs, schedules, automations, rotations].some(isPending) };
}

/** Objects of the page Schedules. */
function ofSchedules(kind: "schedule" | "automation", label: string): Choice {
  return { kind, label, href: hrefOf("schedules") };
}

/** Shorter texts are in nearly every ID. */
const minLength = 4;

/** Credential Sets and AuthKeys, each by a call of the platform: only for a longer text; a failed call finds none. */
function useCredentials(search: string): Found {
  const of = { profile: profile.value };
  const isWanted = search.length >= minLength;
  const sets = useLive<{ credentials: SetReport[] }>(isWanted ? addressOf("/v1/credentials", of) : undefined, once);
  const keys = useLive<{ authKeys: AuthKeyReport[] }>(isWanted ? addressOf("/v1/authkeys", of) : undefined, once);
  const found = [
    ...(sets.value?.credentials ?? []).map(({ credentialsId }) => ["set", credentialsId] as const),
    ...(keys.value?.authKeys ?? []).map(({ authKeyId }) => ["authKey", authKeyId] as const),
  ].map(([kind, id]): Choice => ({ kind, label: id, href: hrefOfCredential(kind, id) }));
  return { found, problem: undefined, isSearching: isWanted && [sets, keys].some(isPending) };
}

const nothing: Found = { found: [], problem: undefined, isSearching: false };
const maxSims = 6;
const pauseMs = 200;

function useSims(search: string): Found {
  const [sims, setSims] = useState(nothing);
  useEffect(() => {
    setSims(nothing);
    if (search.length < minLength || !/^[\w-]+$/.test(search) || !/\d/.test(search)) return undefined;
    setSims({ ...nothing, isSearching: true });
    const stop = new AbortController();
    const query = { profile: profile.value, search, limit: maxSims };
    const find = async (): Promise<readonly Choice[]> => {
      const page = await ask<{ sims: SimDocument[] }>("/v1/sims", { query, signal: stop.signal });
      const found = page.sims.map((sim): Choice => {
        const key = String(sim[keyColumn.value]);
        return { kind: "sim", label: key, href: hrefOf("sims", key) };
      });
      const all: Choice = {
        kind: "sim",
        label: `Search “${search}” in all SIMs`,
        href: hrefOf("sims", undefined, { search }),
      };
      return found.length < 2 ? found : [...found, all];
    };
    const show = async (): Promise<void> => {
      try {
        setSims({ ...nothing, found: await find() });
      } catch (thrown) {
        if (!stop.signal.aborted) setSims({ ...nothing, problem: problemFrom(thrown) });
      }
    };
    const timer = setTimeout(() => void show(), pauseMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [search, keyColumn.value]);
  return sims;
}
