/**
 * The stored record of automations: the state of each, the task that each event led to, and the automations that caused each
 * run or sync, so that an automation that triggers itself is detected.
 *   active -> paused -> active     by a user
 *   active -> stopped -> active    automatically, then by a user
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
  /** Number of events that it acted on, and of matching events that required no action. */
  readonly done: number;
  readonly unchanged: number;
  /** Number of events that it failed to act on. */
  readonly failed: number;
  readonly lastEventAtMs: number | undefined;
  /** The run, sync or rotation that it started last. */
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

  /** Changes its state and emits the event. @returns false if it is no longer in the expected state */
  async move(
    of: { readonly name: string; readonly profile: string },
    move: { from: AutomationState; to: AutomationState; reason?: string; atMs: number; event: MoveEvent },
  ): Promise<boolean> {
    const { name, profile } = of;
    const { from, to, reason, atMs, event } = move;
    const { keys } = this.#storeDeps;
    const reply = await makeMove(this.#storeDeps, {
      key: keys.automation(name),
      profile,
      guard: ["state", from === "active" ? "" : from],
      // An automation without a record is active.
      set: [
        ...(to === "active" ? [] : ["state", to]),
        "changedAtMs",
        atMs,
        ...(reason === undefined ? [] : ["reason", reason]),
      ],
      remove: [...(to === "active" ? ["state"] : []), ...(reason === undefined ? ["reason"] : [])],
      events: [{ ...event, fields: { automation: name, ...event.fields } }],
    });
    return typeof reply === "number";
  }

  /** Counts processed events. */
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

  /** Stores the last started task, counts its events, and emits the event once, even if the task is begun again. */
  async begun(
    { name, profile }: { readonly name: string; readonly profile: string },
    { ref, events, event }: { ref: string; events: number; event: MoveEvent },
  ): Promise<void> {
    const { keys } = this.#storeDeps;
    const { lastRef = "" } = await this.record(name);
    if (lastRef === ref) return;
    const reply = await makeMove(this.#storeDeps, {
      key: keys.automation(name),
      ...{ profile, guard: ["lastRef", lastRef], set: ["lastRef", ref], remove: [] },
      events: [{ ...event, fields: { automation: name, ...event.fields } }],
    });
    if (typeof reply === "number") await this.#redis.hincrby(keys.automation(name), "done", events);
  }

  /**
   * Claims events for the task that would be started under an id.
   * @returns the task of each event by the event's id: an earlier claim, or the given one; undefined if the claims would
   *   exceed the hourly limit
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

  /** The events that it has acted on within the last two days. */
  async claimed(name: string, eventIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (eventIds.length === 0) return new Set();
    const { keys } = this.#storeDeps;
    const claims = await this.#redis.mget(eventIds.map((eventId) => keys.automationClaim(name, eventId)));
    return new Set(eventIds.filter((_, i) => claims[i] !== null));
  }

  /** The automations that caused runs or syncs, by id; unknown ids are left out. */
  async chains(causes: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    if (causes.length === 0) return new Map();
    const texts = await this.#redis.mget(causes.map((cause) => this.#storeDeps.keys.automationChain(cause)));
    return new Map(
      texts.flatMap((text, i): [string, string[]][] =>
        text === null ? [] : [[causes[i] ?? "", JSON.parse(text) as string[]]],
      ),
    );
  }

  /** Stores the automations that cause a run or sync, before it begins. */
  async saveChain(cause: string, chain: readonly string[]): Promise<void> {
    await this.#redis.set(this.#storeDeps.keys.automationChain(cause), JSON.stringify(chain), "EX", chainSeconds);
  }
}
