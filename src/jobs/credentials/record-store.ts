/**
 * The rotations as the store keeps them, one record for each name, saved step by step, so that one that is cut short
 * anywhere goes on or is taken back. Instants are of the wall clock of the process that made the move: what is waited
 * for here takes hours. Its moves:
 *   planned -> generated            the new secret is made and lies sealed
 *   generated -> handed-over        every sink has it; each one's success is saved before the next is asked
 *   handed-over -> created          successor: the new set is on the platform
 *   created -> repointed            whatever named the old set names the new one, or a person has confirmed it
 *   repointed -> done               the old set was out of use for the grace, nothing names it, and it is gone
 *   handed-over -> updated -> done  in-place: the set has the new secret; it was seen to have it
 *   planned | generated | handed-over | created -> rolling-back -> failed   it cannot go on, and was taken back
 * The sealed secret goes with the last move, and not before.
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

  /** Begins a rotation, or gives the one that is under way. */
  async begin(head: RotationHead): Promise<RotationRecord> {
    const { name, profile } = head;
    const { set } = encodeChange({ ...head, state: "planned", movedAtMs: head.startedAtMs, nextAtMs: 0, tries: 0 });
    const args = [name, fieldsOfOneTurn.join(","), ...set];
    await beginScript.run(this.#redis, [this.#keys.rotation(name), this.#keys.rotations(profile)], args);
    const record = await this.record(name);
    if (record === undefined) throw new Error(`the rotation ${name} vanished`);
    return record;
  }

  /** The rotation under way, or the last one of the name. */
  async record(name: string): Promise<RotationRecord | undefined> {
    return decodeRotation(name, await this.#redis.hgetall(this.#keys.rotation(name)));
  }

  /** All of a profile that were ever begun, by name. */
  async records(profile: string): Promise<RotationRecord[]> {
    const names = await this.#redis.smembers(this.#keys.rotations(profile));
    const records = await Promise.all(names.sort().map((name) => this.record(name)));
    // A rotation that was moved to another profile is in both sets.
    return records.filter((record) => record !== undefined).filter((record) => record.profile === profile);
  }

  async inProgress(profile: string): Promise<RotationRecord[]> {
    return (await this.records(profile)).filter((record) => !isRotationOver(record));
  }

  /**
   * Makes a move from the state in which the record was read, and tells its events with it.
   * @returns the record after it; undefined when the rotation is elsewhere by now
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

  /** Which set's age was told of, and when to look at ages again; also of a rotation that was never begun. */
  async ageCheck(name: string): Promise<{ reportedOf: string | undefined; checkAtMs: number }> {
    const key = this.#keys.rotation(name);
    const [reportedOf, checkAtMs] = await this.#redis.hmget(key, "expiryReportedOf", "expiryCheckAtMs");
    return { reportedOf: reportedOf ?? undefined, checkAtMs: Number(checkAtMs ?? 0) };
  }

  /** Saves that ages were looked at, and tells of the one that is due. */
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
