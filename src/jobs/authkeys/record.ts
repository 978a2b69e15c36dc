/**
 * The stored record of an AuthKey rotation: one record per profile, saved step by step. One script makes each transition and
 * emits its events, so an interrupted rotation can always be resumed or rolled back. Transitions:
 *   begun -> making-room             both slots are taken, and the user named the AuthKey to revoke first
 *   begun | making-room -> creating  the existing AuthKeys are saved, to identify one that was created by a lost response
 *   creating -> created              the new AuthKey's secret is stored encrypted
 *   created -> proved                the platform has accepted it
 *   proved -> handed-over            every sink has it; each success is saved before the next sink is called
 *   handed-over -> taken-up          the working process itself authenticates with it
 *   taken-up -> revoking             no process used the old AuthKey for the grace period; back if one uses it again
 *   revoking -> revoked -> done      the old AuthKey is gone
 *   any up to proved -> taking-back -> failed   the new AuthKey is revoked; the old one was never changed
 * Times are Redis's. A transition can require that no process uses an AuthKey; the script checks this atomically.
 */
import type { Redis } from "ioredis";
import type { EventType } from "#events/event.ts";
import { type FeedBounds, emitScriptPart } from "#events/feed.ts";
import { type Problem, problemFields, problemIn } from "#engine/problem.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import { usersScriptPart } from "./users.ts";

const beginScript = Script.load(new URL("./begin.lua", import.meta.url));
const moveScript = Script.load(emitScriptPart, usersScriptPart, new URL("./move.lua", import.meta.url));

export type AuthKeyPhase =
  | "begun"
  | "making-room"
  | "creating"
  | "created"
  | "proved"
  | "handed-over"
  | "taken-up"
  | "revoking"
  | "revoked"
  | "taking-back"
  | "done"
  | "failed";

export interface AuthKeyRotation {
  readonly profile: string;
  readonly rotationId: string;
  readonly phase: AuthKeyPhase;
  readonly startedAtMs: number;
  /** Who requested it. */
  readonly startedBy?: string;
  /** When the current phase was reached. */
  readonly movedAtMs: number;
  readonly finishedAtMs?: number;
  /** The AuthKey to be replaced. */
  readonly oldId?: string;
  readonly newId?: string;
  /** The AuthKey that the user named to be revoked first, to free a slot. */
  readonly replaceId?: string;
  /** AuthKeys that existed before the new one was requested. */
  readonly knownIds: readonly string[];
  /** When the new AuthKey was requested; it may exist since then. */
  readonly askedAtMs?: number;
  /** Id and secret of the new AuthKey, encrypted with the rotation's id as purpose. */
  readonly sealed?: string;
  /** Keys of the sinks that have received the new AuthKey. */
  readonly handedTo: readonly string[];
  /** Since when no process has used the old AuthKey. */
  readonly quietSinceMs?: number;
  /** Last use of the old AuthKey as reported by the platform. */
  readonly lastUsedAtMs?: number;
  /** Failed attempts of the current step. */
  readonly tries: number;
  /** What the rotation currently waits for. */
  readonly waitsFor?: string;
  /** Set while the current step fails. */
  readonly problem?: Problem | undefined;
  /** Why it is rolled back. */
  readonly reason?: string;
}

export function isRotationOver({ phase }: Pick<AuthKeyRotation, "phase">): boolean {
  return phase === "done" || phase === "failed";
}

/** Fields changed by a transition; undefined removes a field, `now` stands for the time of the transition. */
export type AuthKeyChange = {
  readonly [Field in Exclude<keyof AuthKeyRotation, "profile" | "rotationId" | "startedAtMs" | "movedAtMs">]?:
    | AuthKeyRotation[Field]
    | (AuthKeyRotation[Field] extends number | undefined ? "now" : never)
    | undefined;
};

export interface AuthKeyEvent {
  readonly type: EventType;
  readonly fields: Readonly<Record<string, string>>;
}

export class AuthKeyRotations {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #bounds: FeedBounds;

  constructor(storeDeps: { readonly redis: Redis; readonly keys: Keys; readonly bounds: FeedBounds }) {
    this.#redis = storeDeps.redis;
    this.#keys = storeDeps.keys;
    this.#bounds = storeDeps.bounds;
  }

  /** Begins a rotation, or returns the id of the one in progress. */
  async begin(
    profile: string,
    how: { rotationId: string; replaceId?: string | undefined; by?: string | undefined },
  ): Promise<AuthKeyRotation> {
    const { rotationId, replaceId = "", by = "" } = how;
    await beginScript.run(this.#redis, [this.#keys.authKeyRotation(profile)], [rotationId, replaceId, by]);
    const record = await this.record(profile);
    if (record === undefined) throw new Error(`the AuthKey rotation of ${profile} vanished`);
    return record;
  }

  /** The rotation in progress, or the last one; undefined if there never was one. */
  async record(profile: string): Promise<AuthKeyRotation | undefined> {
    const hash = await this.#redis.hgetall(this.#keys.authKeyRotation(profile));
    if (hash.rotationId === undefined) return undefined;
    const fields = Object.entries(hash).map(([field, text]) => [field, valueOf(field, text)] as const);
    return {
      knownIds: [],
      handedTo: [],
      tries: 0,
      ...Object.fromEntries(fields),
      problem: problemIn(hash),
      profile,
    } as unknown as AuthKeyRotation;
  }

  /**
   * Makes a transition from the phase in which the record was read.
   * @param terms `unused` is an AuthKey that no live process may be using
   * @returns `stale` if the rotation has moved on, `used` if a process uses that AuthKey; nothing is changed then
   */
  async move(
    { profile, rotationId, phase, startedBy }: AuthKeyRotation,
    change: AuthKeyChange,
    storeDeps: { readonly unused?: string | undefined; readonly events?: readonly AuthKeyEvent[] } = {},
  ): Promise<"moved" | "stale" | "used"> {
    const set: string[] = [];
    const away: string[] = [];
    const { problem, ...others } = change;
    const changed = "problem" in change ? { ...others, ...problemFields(problem) } : others;
    for (const [field, value] of Object.entries(changed)) {
      if (value === undefined) away.push(field);
      else set.push(field, Array.isArray(value) ? JSON.stringify(value) : String(value));
    }
    const by = startedBy === undefined ? {} : { by: startedBy };
    const reported = (storeDeps.events ?? []).flatMap(({ type, fields }) => {
      const event = [type, ...Object.entries({ ...fields, cause: rotationId, ...by }).flat()];
      return [event.length, ...event];
    });
    const reply = await moveScript.run(
      this.#redis,
      [this.#keys.authKeyRotation(profile), this.#keys.authKeyUsers(profile), this.#keys.events()],
      [
        profile,
        this.#bounds.most,
        rotationId,
        phase,
        storeDeps.unused ?? "",
        set.length,
        ...set,
        away.length,
        ...away,
        ...reported,
      ],
    );
    return reply as "moved" | "stale" | "used";
  }

  /** Redis's clock, ms. */
  async nowMs(): Promise<number> {
    const [seconds, micros] = await this.#redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }
}

/** Parses a field of the hash; its name determines the type. */
function valueOf(field: string, text: string): string | number | readonly string[] {
  if (lists.has(field)) return JSON.parse(text) as string[];
  return field.endsWith("Ms") || field === "tries" ? Number(text) : text;
}

const lists: ReadonlySet<string> = new Set(["knownIds", "handedTo"]);
