/**
 * The stored record of an AuthKey rotation: one record per profile, saved step by step. One script makes each transition and
 * emits its events, so an interrupted rotation can always be resumed or rolled back. Transitions:
 *   begun -> making-room             both slots are taken, and the user named the AuthKey to revoke first
 *   begun | making-room -> creating  the existing AuthKeys are saved, to identify one that was created by a lost response
 *   creating -> created              the new AuthKey's secret is stored encrypted
 *   created -> verified                the platform has accepted it
 *   verified -> delivered            every sink has it; each success is saved before the next sink is called
 *   delivered -> active          the working process itself authenticates with it
 *   active -> revoking             no process used the old AuthKey for the grace period; back if one uses it again
 *   revoking -> revoked -> done      the old AuthKey is gone
 *   any up to verified -> taking-back -> failed   the new AuthKey is revoked; the old one was never changed
 * Times are Redis's. A transition can require that no process uses an AuthKey; the script checks this atomically.
 */
import { type MoveEvent, type StoreDeps, moveScript } from "#engine/move-record.ts";
import type { Problem } from "#engine/problem.ts";
import { type Change, type RecordKind, recordStore } from "#engine/record.ts";
import { redisTimeMs } from "#redis/time.ts";
import { usersKey, usersScriptPart } from "#engine/authkey-users.ts";

const unlessUsed = moveScript(usersScriptPart, new URL("./unless-used.lua", import.meta.url));

export type AuthKeyPhase =
  | "begun"
  | "making-room"
  | "creating"
  | "created"
  | "verified"
  | "delivered"
  | "active"
  | "revoking"
  | "revoked"
  | "taking-back"
  | "done"
  | "failed";

export interface AuthKeyRotation {
  readonly profile: string;
  readonly rotationId: string;
  readonly revision?: number;
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
  /** When it was quarantined because its current step killed three workers; absent once a person continues it. */
  readonly quarantinedAtMs?: number;
  /** Set while the current step fails. */
  readonly problem?: Problem | undefined;
  /** Why it is rolled back. */
  readonly reason?: string;
}

export function isRotationOver({ phase }: Pick<AuthKeyRotation, "phase">): boolean {
  return phase === "done" || phase === "failed";
}

const kind: RecordKind<AuthKeyRotation> = {
  idField: "rotationId",
  stateField: "phase",
  numbers: ["tries"],
  lists: ["knownIds", "handedTo"],
  kept: [],
  defaults: (profile) => ({ profile, knownIds: [], handedTo: [], tries: 0 }),
  entering: { movedAtMs: "now", waitsFor: undefined, problem: undefined, tries: 0 },
  isOver: isRotationOver,
};

/** Fields changed by a move; undefined removes a field, `now` stands for the time of the move. */
export type AuthKeyChange = Change<Omit<AuthKeyRotation, "profile" | "rotationId" | "startedAtMs">>;

/** The store of AuthKey rotations. */
export type AuthKeyRotations = ReturnType<typeof authKeyRotations>;

export function authKeyRotations(deps: StoreDeps) {
  const { keys } = deps;
  const store = recordStore(kind, deps, (profile) => keys.of("authkeys", profile, "rotation"));

  /** Begins a rotation, or returns the one in progress. */
  const begin = (
    profile: string,
    order: { rotationId: string; replaceId?: string | undefined; by?: string | undefined },
  ): Promise<AuthKeyRotation> => {
    const { rotationId, replaceId, by: startedBy } = order;
    const begun = { phase: "begun", startedAtMs: "now", movedAtMs: "now", tries: 0 } as const;
    return store.begin(profile, { profile, rotationId, replaceId, startedBy, ...begun });
  };

  /** Continues a rotation that was quarantined. */
  const release = async (profile: string): Promise<void> => {
    await store.update({ name: profile, profile }, (present) =>
      present?.quarantinedAtMs === undefined
        ? undefined
        : { change: { quarantinedAtMs: undefined, waitsFor: undefined, problem: undefined, tries: 0 } },
    );
  };

  /** The rotation in progress, or the last one; undefined if there never was one. */
  const record = (profile: string): Promise<AuthKeyRotation | undefined> => store.get(profile);

  /**
   * Makes a move from the record as it was read.
   * @param order `unused` is an AuthKey that no live process may be using
   * @returns the new record; `stale` if the rotation has moved on, `used` if a process uses that AuthKey: nothing is
   *   changed then
   */
  const move = async (
    of: AuthKeyRotation,
    change: AuthKeyChange,
    { unused, events = [] }: { readonly unused?: string | undefined; readonly events?: readonly MoveEvent[] } = {},
  ): Promise<AuthKeyRotation | "stale" | "used"> => {
    const users = usersKey(keys, of.profile);
    const condition = unused === undefined ? undefined : { script: unlessUsed, keys: [users], args: [unused] };
    return (await store.move(of.profile, of, change, { events, condition })) as AuthKeyRotation | "stale" | "used";
  };

  /** Redis's clock, ms. */
  const nowMs = (): Promise<number> => redisTimeMs(deps.redis, keys);

  return { begin, release, record, move, nowMs };
}
