/** Selection of events: kinds, a user, a day, a profile, a cause; as part of the address, and as a request. */
import { eventKinds } from "./event-texts.ts";
import { kindOf, typesOf } from "./sentences.ts";
import type { FleetEvent } from "../shapes.ts";

export interface EventChoice {
  /** None: every kind but the changes of single SIMs. */
  readonly kinds: readonly string[];
  /** `token:anna`; empty for everyone. */
  readonly by: string;
  /** A local day, `2026-11-22`; empty for any. */
  readonly day: string;
  readonly profile: string;
  /** A run, a sync or a rotation; empty for any. */
  readonly cause: string;
}

const kindNames = Object.keys(eventKinds);

export function choiceOf({
  type = "",
  by = "",
  day = "",
  profile = "",
  cause = "",
}: Readonly<Record<string, string>>): EventChoice {
  const kinds = type.split(",").filter((kind) => kindNames.includes(kind));
  return { kinds, by, day: /^\d{4}-\d\d-\d\d$/.test(day) ? day : "", profile, cause };
}

export function queryOfChoice({ kinds, by, day, profile, cause }: EventChoice): Record<string, string> {
  return { type: kinds.join(","), by, day, profile, cause };
}

/** The changes of single SIMs are shown if a cause is chosen. */
function shownKinds({ kinds, cause }: EventChoice): readonly string[] {
  return kinds.length === 0 ? kindNames.filter((kind) => kind !== "sim" || cause !== "") : kinds;
}

/** The query of `GET /v1/events`. */
export function eventQuery(choice: EventChoice): URLSearchParams {
  const query = new URLSearchParams(typesOf(shownKinds(choice)).map((type) => ["type", type]));
  const [since, until] = spanOf(choice.day) ?? [];
  const given = { by: choice.by, profile: choice.profile, cause: choice.cause, since, until };
  for (const [name, value] of Object.entries(given)) if (value !== undefined && value !== "") query.set(name, value);
  return query;
}

/** Whether a new event belongs into the list. */
export function hasPlaceIn(choice: EventChoice, { type, at, profile, fields }: FleetEvent): boolean {
  const [since, until] = spanOf(choice.day) ?? [];
  if (!shownKinds(choice).includes(kindOf(type)) || (choice.by !== "" && fields.by !== choice.by)) return false;
  if (choice.cause !== "" && fields.cause !== choice.cause) return false;
  if (choice.profile !== "" && profile !== "" && profile !== choice.profile) return false;
  return (since === undefined || at >= since) && (until === undefined || at < until);
}

/** First instant of a local day and of the next one. */
export function spanOf(day: string): [since: string, until: string] | undefined {
  if (day === "") return undefined;
  const first = new Date(`${day}T00:00:00`);
  if (Number.isNaN(first.getTime())) return undefined;
  const next = new Date(first);
  next.setDate(first.getDate() + 1);
  return [first.toISOString(), next.toISOString()];
}
