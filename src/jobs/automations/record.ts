/**
 * What automations have done, as the store keeps it: the state of each, which event led to what, and which automations
 * led to a run or sync, so that one that sets itself off again is seen.
 *   active -> paused -> active     by a person
 *   active -> stopped -> active    by itself, and by a person
 */
import type { Redis } from "ioredis";
import type { AutomationState } from "#fleet/automation.ts";
import { Script } from "#redis/script.ts";
import type { StoreDeps } from "#engine/store-deps.ts";
import { type MoveEvent, makeMove } from "#engine/move-record.ts";

const claimScript = Script.load(new URL("./claim-events.lua", import.meta.url));
const claimSeconds = 2 * 86_400;
const chainSeconds = 30 * 86_400;
const hourMs = 3_600_000;

export interface AutomationRecord {
  readonly state: AutomationState;
  /** Why it was stopped. */
  readonly reason: string | undefined;
  readonly changedAtMs: number | undefined;
  /** Events that it has acted on, and those that its condition held for and there was nothing to do. */
  readonly done: number;
  readonly unchanged: number;
  /** Events that it could not act on. */
  readonly failed: number;
  readonly lastEventAtMs: number | undefined;
  /** What it began last. */
  readonly lastRef: string | undefined;
}

export class AutomationLog {
  readonly #storeDeps: StoreDeps;
  readonly #redis: Redis;

  constructor(storeDeps: StoreDeps) {
    this.#storeDeps = storeDeps;
    this.#redis = storeDeps.redis;
  }

  async record(name: string): Promise<AutomationRecord> {
    const hash = await this.#redis.hgetall(this.#storeDeps.keys.automation(name));
    const number = (field: string): number => Number(hash[field] ?? 0);
    const instant = (field: string): number | undefined => (hash[field] === undefined ? undefined : number(field));
    return {
      state: (hash.state ?? "active") as AutomationState,
      reason: hash.reason,
      changedAtMs: instant("changedAtMs"),
      done: number("done"),
      unchanged: number("unchanged"),
      failed: number("failed"),
      lastEventAtMs: instant("lastEventAtMs"),
      lastRef: hash.lastRef,
    };
  }

  /** Moves it to another state and tells of it. @returns false when it is not in the state before any more */
  move(
    of: { readonly name: string; readonly profile: string },
    move: { from: AutomationState; to: AutomationState; reason?: string; atMs: number; event: MoveEvent },
  ): Promise<boolean> {
    const { name, profile } = of;
    const { from, to, reason, atMs, event } = move;
    const { keys, bounds } = this.#storeDeps;
    return makeMove(this.#redis, bounds, {
      keys: [keys.automation(name), keys.events()],
      profile,
      guard: ["state", from === "active" ? "" : from],
      // Active is the state of one that has no record.
      set: [
        ...(to === "active" ? [] : ["state", to]),
        "changedAtMs",
        atMs,
        ...(reason === undefined ? [] : ["reason", reason]),
      ],
      away: [...(to === "active" ? ["state"] : []), ...(reason === undefined ? ["reason"] : [])],
      events: [{ ...event, fields: { automation: name, ...event.fields } }],
    });
  }

  /** Counts events that it has seen to. */
  async count(
    name: string,
    counts: Partial<Record<"unchanged" | "failed", number>>,
    lastEventAtMs: number,
  ): Promise<void> {
    const key = this.#storeDeps.keys.automation(name);
    for (const [field, count] of Object.entries(counts)) {
      if (count > 0) await this.#redis.hincrby(key, field, count);
    }
    await this.#redis.hset(key, { lastEventAtMs });
  }

  /** Remembers what it has begun last, counts its events, and tells of it: once, also when the same is begun again. */
  async begun(
    { name, profile }: { readonly name: string; readonly profile: string },
    { ref, events, event }: { ref: string; events: number; event: MoveEvent },
  ): Promise<void> {
    const { keys, bounds } = this.#storeDeps;
    const { lastRef = "" } = await this.record(name);
    if (lastRef === ref) return;
    const isFirst = await makeMove(this.#redis, bounds, {
      keys: [keys.automation(name), keys.events()],
      ...{ profile, guard: ["lastRef", lastRef], set: ["lastRef", ref], away: [] },
      events: [{ ...event, fields: { automation: name, ...event.fields } }],
    });
    if (isFirst) await this.#redis.hincrby(keys.automation(name), "done", events);
  }

  /**
   * Claims events for what would be begun under an id.
   * @returns what each event leads to, by its id: what it was claimed for before, or the given one; undefined when that
   *   would be more than an hour allows
   */
  async claim(
    name: string,
    eventIds: readonly string[],
    { id, mostPerHour, atMs }: { id: string; mostPerHour: number; atMs: number },
  ): Promise<ReadonlyMap<string, string> | undefined> {
    const { keys } = this.#storeDeps;
    const rate = keys.automationRate(name, Math.floor(atMs / hourMs));
    const claims = eventIds.map((eventId) => keys.automationClaim(name, eventId));
    const reply = await claimScript.run(this.#redis, [rate, ...claims], [id, claimSeconds, mostPerHour]);
    if (reply === "over") return undefined;
    return new Map((reply as string[]).map((claimed, i) => [eventIds[i] ?? "", claimed]));
  }

  /** Which of these events it has acted on within the last two days. */
  async claimed(name: string, eventIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (eventIds.length === 0) return new Set();
    const { keys } = this.#storeDeps;
    const claims = await this.#redis.mget(eventIds.map((eventId) => keys.automationClaim(name, eventId)));
    return new Set(eventIds.filter((_, i) => claims[i] !== null));
  }

  /** The automations that led to runs or syncs, by the id of each; those that nobody knows are left out. */
  async chains(causes: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    if (causes.length === 0) return new Map();
    const texts = await this.#redis.mget(causes.map((cause) => this.#storeDeps.keys.automationChain(cause)));
    return new Map(
      texts.flatMap((text, i): [string, string[]][] =>
        text === null ? [] : [[causes[i] ?? "", JSON.parse(text) as string[]]],
      ),
    );
  }

  /** Remembers which automations lead to a run or sync, before it begins. */
  async saveChain(cause: string, chain: readonly string[]): Promise<void> {
    await this.#redis.set(this.#storeDeps.keys.automationChain(cause), JSON.stringify(chain), "EX", chainSeconds);
  }
}
