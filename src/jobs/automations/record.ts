/**
 * The stored record of automations: the state and the counts of each, the task that each event led to, and the
 * automations that caused each run or sync, so that an automation that triggers itself is detected.
 *   active -> paused -> active     by a user
 *   active -> stopped -> active    automatically, then by a user
 */
import { hourMs } from "#core/time.ts";
import type { RecordOf } from "#contract/fields.ts";
import type { Keys } from "#redis/keys.ts";
import type { Automation } from "./config.ts";
import type { AutomationReport } from "./contract.ts";
import { Script } from "#redis/script.ts";
import type { MoveEvent, StoreDeps } from "#engine/move-record.ts";
import { type RecordFields, stateStore } from "#engine/record.ts";

const claimScript = Script.load(new URL("./claim-events.lua", import.meta.url));
const claimSeconds = 2 * 86_400;
const chainSeconds = 30 * 86_400;
/** Events that are delivered again lead to tasks that are no older than so many. */
const keptTasks = 20;

type AutomationState = AutomationReport["state"];

type Reported = "profile" | "state" | "reason" | "done" | "unchanged" | "failed" | "lastEventAtMs" | "lastRef";

export interface AutomationRecord extends Pick<RecordOf<AutomationReport>, Reported> {
  readonly revision?: number;
  /** The ids under which it started its latest tasks, so that none is counted twice. */
  readonly lastTasks?: readonly string[];
}

const initial = { state: "active", done: 0, unchanged: 0, failed: 0 } as const;
const fields: RecordFields<AutomationRecord> = {
  subject: "automation",
  numbers: ["done", "unchanged", "failed"],
  json: ["lastTasks"],
  defaults: () => initial,
};

type Named = Pick<Automation, "name" | "profile">;

export type AutomationLog = ReturnType<typeof automationLog>;

/** String, expires after a day: the task that the automation started for an event. */
const claimKey = (keys: Keys, name: string, eventId: string): string => keys.of("automation", name, "event", eventId);
/** String, expires after a month: the automations that caused a run or sync, as JSON. */
const chainKey = (keys: Keys, cause: string): string => keys.of("automation-chain", cause);

export function automationLog(deps: StoreDeps) {
  const { redis, keys } = deps;
  const store = stateStore(fields, deps, (name) => keys.of("automation", name));

  /** An automation without a record is active. */
  const record = async ({ name, profile }: Named): Promise<AutomationRecord> =>
    (await store.get(name)) ?? { ...initial, profile };

  /** Changes its state and emits the event, unless it is in none of the states that the move starts from. */
  const move = async (
    of: Named,
    from: readonly AutomationState[],
    change: { readonly state: AutomationState; readonly reason: string | undefined },
    event: MoveEvent,
  ): Promise<void> => {
    await store.update(of, (present = { ...initial, profile: of.profile }) =>
      from.includes(present.state) ? { change, events: [event] } : undefined,
    );
  };

  /** Counts matching events that required no action, and stores the time of the last event. */
  const count = async (of: Named, unchanged: number, lastEventAtMs: number): Promise<void> => {
    await store.update(of, (present) => ({
      change: { unchanged: (present?.unchanged ?? 0) + unchanged, lastEventAtMs },
    }));
  };

  /** Stores the last started task, counts its events, and emits the event once, even if the task is started again. */
  const begun = async (
    of: Named,
    task: { id: string; ref: string; counted: "done" | "failed"; events: number; event: MoveEvent },
  ): Promise<void> => {
    const { id, ref, counted, events, event } = task;
    await store.update(of, (present) => {
      const lastTasks = present?.lastTasks ?? [];
      if (lastTasks.includes(id)) return undefined;
      return {
        change: {
          lastTasks: [...lastTasks, id].slice(-keptTasks),
          lastRef: ref,
          [counted]: (present?.[counted] ?? 0) + events,
        },
        events: [event],
      };
    });
  };

  /**
   * Claims events for the task that would be started under an id.
   * @returns the task of each event by the event's id: an earlier claim, or the given one; undefined if the claims
   *   would exceed the hourly limit
   */
  const claim = async (
    name: string,
    eventIds: readonly string[],
    { id, maxPerHour, atMs }: { id: string; maxPerHour: number; atMs: number },
  ): Promise<ReadonlyMap<string, string> | undefined> => {
    const rate = keys.of("automation", name, "hour", Math.floor(atMs / hourMs));
    const claims = eventIds.map((eventId) => claimKey(keys, name, eventId));
    const reply = await claimScript.run(redis, [rate, ...claims], [id, claimSeconds, maxPerHour]);
    if (reply === "over") return undefined;
    return new Map((reply as string[]).map((claimed, i) => [eventIds[i] ?? "", claimed]));
  };

  /** The task of each event that it has acted on within the last two days, by the event's id. */
  const claimed = (name: string, eventIds: readonly string[]) =>
    readTexts(deps, eventIds, (id) => claimKey(keys, name, id));

  const saveChain = (cause: string, chain: readonly string[]): Promise<unknown> =>
    redis.set(chainKey(keys, cause), JSON.stringify(chain), "EX", chainSeconds);

  /** The automations that caused runs or syncs, by id; unknown ids are left out. */
  const chains = async (causes: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> => {
    const found = await readTexts(deps, causes, (cause) => chainKey(keys, cause));
    return new Map([...found].map(([cause, text]) => [cause, JSON.parse(text) as string[]]));
  };

  return { record, move, count, begun, claim, claimed, saveChain, chains };
}

async function readTexts({ redis }: StoreDeps, names: readonly string[], keyOf: (name: string) => string) {
  const texts = names.length === 0 ? [] : await redis.mget(names.map(keyOf));
  return new Map(texts.flatMap((text, i): [string, string][] => (text === null ? [] : [[names[i] ?? "", text]])));
}
