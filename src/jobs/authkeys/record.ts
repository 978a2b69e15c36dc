/**
 * The stored record of an AuthKey rotation: one record per user, saved step by step. One script makes each transition
 * and emits its events, so an interrupted rotation can always be resumed or rolled back. Transitions:
 *   begun -> making-room             both slots are taken, and the user named the AuthKey to revoke first
 *   begun | making-room -> creating  the existing AuthKeys are saved, to identify one that a lost response created
 *   creating -> created              the new AuthKey's secret is stored encrypted
 *   created -> verified                the platform has accepted it
 *   verified -> delivered            every sink has it; each success is saved before the next sink is called
 *   delivered -> active          the working process itself authenticates with it
 *   active -> revoking             no process used the old AuthKey for the grace period; back if one uses it again
 *   revoking -> revoked -> done      the old AuthKey is gone
 *   any up to verified -> taking-back -> failed   the new AuthKey is revoked; the old one was never changed
 * Times of moves are Redis's. A transition can require that no process uses an AuthKey; the script's check is atomic.
 */
import { usersOf } from "#engine/authkey-users.ts";
import { type MoveEvent, type StoreDeps, moveScript } from "#engine/move-record.ts";
import type { Change } from "#engine/record.ts";
import { type RotationFields, rotationStore } from "#jobs/credentials/rotation-machine.ts";
import { redisTimeMs } from "#redis/node.ts";
import type { KeyOwner } from "./config.ts";
import type { authKeyStates } from "./contract.ts";

const unlessUsed = moveScript(new URL("./unless-used.lua", import.meta.url));

export type AuthKeyState = (typeof authKeyStates)[number];

export interface AuthKeyRotation extends RotationFields {
  readonly state: AuthKeyState;
  /** The sub-user whose AuthKey it is; absent: that of the profile. */
  readonly user?: string;
  readonly oldId?: string;
  readonly newId?: string;
  /** The AuthKey that the user named to be revoked first, to free a slot. */
  readonly replaceId?: string;
  /** AuthKeys that existed before the new one was requested. */
  readonly knownIds: readonly string[];
  /** When the new AuthKey was requested; it may exist since then. */
  readonly askedAtMs?: number;
  /** Last use of the old AuthKey as reported by the platform. */
  readonly lastUsedAtMs?: number;
}

export type AuthKeyChange = Change<AuthKeyRotation>;

export type AuthKeyRotations = ReturnType<typeof authKeyRotations>;

export function authKeyRotations(deps: StoreDeps) {
  const { redis, keys } = deps;
  const store = rotationStore<AuthKeyRotation>(
    { json: ["knownIds"], kept: [], defaults: (name) => ({ profile: name, knownIds: [] }) },
    deps,
    (name) => keys.of("authkeys", name, "rotation"),
  );
  return {
    ...store,

    begin: (
      owner: KeyOwner,
      order: { rotationId: string; replaceId?: string | undefined; startedBy?: string | undefined },
    ): Promise<AuthKeyRotation> => store.begin(owner.name, { ...owner, ...order, state: "begun", startedAtMs: "now" }),

    /**
     * Makes a move, unless a live process uses the AuthKey `unused`.
     * @returns the new record; `stale` if the rotation has moved on, `used` if a process uses that AuthKey: nothing is
     *   changed then
     */
    move: async (
      of: AuthKeyRotation,
      change: AuthKeyChange,
      { unused, events }: { readonly unused?: string; readonly events?: readonly MoveEvent[] | undefined } = {},
    ): Promise<AuthKeyRotation | "stale" | "used"> => {
      const users = keys.liveWorkers(usersOf(of.profile));
      const condition = unused === undefined ? undefined : { script: unlessUsed, keys: [users], args: [unused] };
      return (await store.move(of, change, { events, condition })) as AuthKeyRotation | "stale" | "used";
    },

    /** Redis's clock, ms. */
    nowMs: (): Promise<number> => redisTimeMs(redis, keys),
  };
}
