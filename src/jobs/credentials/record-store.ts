/**
 * The store of rotations: one record per name, saved step by step, so an interrupted rotation can be resumed or rolled back.
 * Times are the wall clock of the process that made the transition, since the waits take hours. Transitions:
 *   planned -> generated            the new secret is generated and stored encrypted
 *   generated -> handed-over        every sink has it; each success is saved before the next sink is called
 *   handed-over -> created          successor: the new set exists on the platform
 *   created -> repointed            every reference to the old set was changed to the new one, or a user confirmed it
 *   repointed -> done               the old set was unused for the grace period, nothing refers to it, and it was deleted
 *   handed-over -> updated -> done  in-place: the set was updated with the new secret, and the update was verified
 *   planned | generated | handed-over | created -> rolling-back -> failed   it cannot continue and was rolled back
 * The encrypted secret is removed with the last transition, not before.
 */
import type { Redis } from "ioredis";
import type { FeedBounds } from "#events/feed.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import { type MoveEvent, makeMove } from "#engine/move-record.ts";
import {
  decodeRotation,
  encodeChange,
  fieldsOfOneTurn,
  isRotationOver,
  type RotationChange,
  type RotationHead,
  type RotationRecord,
} from "./record.ts";

const beginScript = Script.load(new URL("./begin-rotation.lua", import.meta.url));

export class RotationLog {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #bounds: FeedBounds;

  constructor(storeDeps: { readonly redis: Redis; readonly keys: Keys; readonly bounds: FeedBounds }) {
    this.#redis = storeDeps.redis;
    this.#keys = storeDeps.keys;
    this.#bounds = storeDeps.bounds;
  }

  /** Begins a rotation, or returns the one in progress. */
  async begin(head: RotationHead): Promise<RotationRecord> {
    const { name, profile } = head;
    const { set } = encodeChange({ ...head, state: "planned", movedAtMs: head.startedAtMs, nextAtMs: 0, tries: 0 });
    const args = [name, fieldsOfOneTurn.join(","), ...set];
    await beginScript.run(this.#redis, [this.#keys.rotation(name), this.#keys.rotations(profile)], args);
    const record = await this.record(name);
    if (record === undefined) throw new Error(`the rotation ${name} vanished`);
    return record;
  }

  /** The rotation with this name that is in progress, or the last one. */
  async record(name: string): Promise<RotationRecord | undefined> {
    return decodeRotation(name, await this.#redis.hgetall(this.#keys.rotation(name)));
  }

  /** All rotations that a profile ever began, sorted by name. */
  async records(profile: string): Promise<RotationRecord[]> {
    const names = await this.#redis.smembers(this.#keys.rotations(profile));
    const records = await Promise.all(names.sort().map((name) => this.record(name)));
    // A rotation that was assigned to another profile is in both sets.
    return records.filter((record) => record !== undefined).filter((record) => record.profile === profile);
  }

  async inProgress(profile: string): Promise<RotationRecord[]> {
    return (await this.records(profile)).filter((record) => !isRotationOver(record));
  }

  /**
   * Makes a transition from the state in which the record was read, and emits its events in the same script.
   * @returns the new record; undefined if another process has moved the rotation on
   */
  async move(
    record: RotationRecord,
    change: RotationChange,
    events: readonly MoveEvent[] = [],
  ): Promise<RotationRecord | undefined> {
    return (await this.#run(record, change, events)) ? this.record(record.name) : undefined;
  }

  async #run(
    at: Pick<RotationRecord, "name" | "profile" | "rotationId" | "startedBy"> & { readonly state: string },
    change: RotationChange,
    events: readonly MoveEvent[],
  ): Promise<boolean> {
    const { name, profile, rotationId, state, startedBy: by } = at;
    const { set, away } = encodeChange(change);
    return makeMove(this.#redis, this.#bounds, {
      keys: [this.#keys.rotation(name), this.#keys.events()],
      ...{ profile, set, away, guard: ["rotationId", rotationId, "state", state] },
      events: events.map(({ type, fields }) => ({
        type,
        fields: { rotation: name, cause: rotationId === "" ? undefined : rotationId, by, ...fields },
      })),
    });
  }

  /** The set whose age was reported, and the time of the next check; also for a rotation that never began. */
  async ageCheck(name: string): Promise<{ reportedOf: string | undefined; checkAtMs: number }> {
    const key = this.#keys.rotation(name);
    const [reportedOf, checkAtMs] = await this.#redis.hmget(key, "expiryReportedOf", "expiryCheckAtMs");
    return { reportedOf: reportedOf ?? undefined, checkAtMs: Number(checkAtMs ?? 0) };
  }

  /** Saves an age check, and emits the event if one is due. */
  async noteAge(
    { name, profile }: { readonly name: string; readonly profile: string },
    change: { readonly expiryCheckAtMs: number; readonly expiryReportedOf?: string },
    events: readonly MoveEvent[],
  ): Promise<void> {
    const record = await this.record(name);
    const present = record ?? { name, profile, rotationId: "", state: "" };
    await this.#run(present, change, events);
  }
}
