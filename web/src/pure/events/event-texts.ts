/// <reference types="vite/types/importMeta.d.ts" />
/** The texts of the page Events: what features say of theirs (src/jobs/<feature>/events.ts), collected by the build. */
import type { Events } from "#events/event.ts";

const files = import.meta.glob<{ events: Events; eventKinds?: Readonly<Record<string, string>> }>(
  "../../../../src/jobs/*/events.ts",
  { eager: true },
);
const all: Events = Object.fromEntries(Object.values(files).flatMap(({ events }) => Object.entries(events)));

/** By type, templates of sentences. */
export const eventSentences: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(all).map(([type, { sentence }]) => [type, sentence]),
);

/** The titles of the kinds of events, by the first word of their type. */
export const eventKinds: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(files).flatMap((file) => Object.entries(file.eventKinds ?? {})),
);

/** Types of events that need attention. */
export const failureTypes: readonly string[] = Object.keys(all).filter((type) => all[type]?.needsAttention === true);

/** Changes that are not of a field, by the type of their event. */
export const changeWords: Readonly<Record<string, string>> = {
  "sim.added": "is new",
  "sim.gone": "is no longer listed",
  "sim.returned": "is listed again",
};
