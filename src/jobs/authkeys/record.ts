/**
 * The rotation of a profile's AuthKey as the store keeps it: one record for each profile, saved step by step, each move
 * one script that tells its events too. So a rotation that is cut short anywhere goes on or is taken back. Its moves:
 *   begun -> making-room             both slots are taken, and a person named the AuthKey that goes first
 *   begun | making-room -> creating  what AuthKeys there are is saved, so that one of a lost answer can be told
 *   creating -> created              the new AuthKey's secret lies sealed
 *   created -> proved                the platform has accepted it
 *   proved -> handed-over            every sink has it; each one's success is saved before the next is asked
 *   handed-over -> taken-up          the process at work authenticates with it itself
 *   taken-up -> revoking             nobody has used the old AuthKey for the grace; back when somebody turns up
 *   revoking -> revoked -> done      the old AuthKey is gone
 *   any up to proved -> taking-back -> failed   the new AuthKey is revoked, the old one was never touched
 * Instants are Redis's. A move can be bound to nobody's using an AuthKey, which the script sees in the same step.
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
  /** Who asked for it. */
  readonly startedBy?: string;
  /** When the phase was reached. */
  readonly movedAtMs: number;
  readonly finishedAtMs?: number;
  /** The AuthKey that is to go. */
  readonly oldId?: string;
  readonly newId?: string;
  /** The AuthKey that a person named to make room. */
  readonly replaceId?: string;
  /** Those that were there before the new one was asked for. */
  readonly knownIds: readonly string[];
  /** Since when a new one may be there. */
  readonly askedAtMs?: number;
  /** Id and secret of the new one, sealed for the rotation's id. */
  readonly sealed?: string;
  /** Keys of the sinks that have the new one. */
  readonly handedTo: readonly string[];
  /** Since when nobody has used the old one. */
  readonly quietSinceMs?: number;
  /** Its last use as the platform told it. */
  readonly lastUsedAtMs?: number;
  /** Failed tries of the present step. */
  readonly tries: number;
  /** What it waits for at present. */
  readonly waitsFor?: string;
  /** While the present step fails. */
  readonly problem?: Problem | undefined;
  /** Why it is taken back. */
  readonly reason?: string;
}

export function isRotationOver({ phase }: Pick<AuthKeyRotation, "phase">): boolean {
  return phase === "done" || phase === "failed";
}

/** What a move changes; undefined takes a field away, `now` is the instant of the move. */
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

  /** Begins a rotation, or gives the one that is under way. */
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

  /** The rotation under way, or the last one; undefined when there never was one. */
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
   * Makes a move from the phase in which the record was read.
   * @param terms `unused` is an AuthKey that no live process may use for the move to be made
   * @returns `stale` when the rotation is elsewhere by now, `used` when somebody uses that AuthKey: nothing is done then
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

/** What a field of the hash stands for, which its name tells. */
function valueOf(field: string, text: string): string | number | readonly string[] {
  if (lists.has(field)) return JSON.parse(text) as string[];
  return field.endsWith("Ms") || field === "tries" ? Number(text) : text;
}

const lists: ReadonlySet<string> = new Set(["knownIds", "handedTo"]);
