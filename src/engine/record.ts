/**
 * A store of durable records: one hash per name, saved move by move, so that interrupted work is resumed or rolled back
 * from its record alone. A move is made only from the revision in which the record was read, and emits its events in
 * the same script: if two processes try the same move, one succeeds. A sync's pages are stored without a new revision,
 * so the id and the state must be unchanged as well.
 */
import { randomInt } from "node:crypto";
import { stampOf } from "#core/time.ts";
import { type MoveCondition, type MoveEvent, type StoreDeps, makeMove } from "./move-record.ts";
import type { Problem } from "./problem.ts";

/** Fields that every record has, besides its id and state. */
export interface CommonFields {
  readonly profile: string;
  /** Counts the moves; absent before the first. */
  readonly revision?: number | undefined;
  readonly startedBy?: string | undefined;
  /** Set while the work fails. */
  readonly problem?: Problem | undefined;
}

/** How the fields of a record are stored. Those whose names end with `Ms` hold numbers, other fields hold texts. */
export interface RecordFields<R extends CommonFields> {
  /** Other fields that hold numbers. */
  readonly numbers?: readonly (keyof R & string)[];
  /** Fields that hold lists or objects, as JSON. */
  readonly json?: readonly (keyof R & string)[];
  /** The field of its events that holds its name; none by default. */
  readonly subject?: string;
  /** Values of fields that the stored record with a name may lack. */
  readonly defaults?: (name: string) => Partial<R>;
}

/** A record of work that starts and ends, again and again under one name. */
export interface RecordKind<R extends CommonFields> extends RecordFields<R> {
  readonly idField: keyof R & string;
  readonly stateField: keyof R & string;
  /** Fields that the next `begin` keeps. */
  readonly kept: readonly (keyof R & string)[];
  /** Default changes of every move to another state. */
  readonly entering: Change<R>;
  readonly isOver: (record: R) => boolean;
}

/** Fields changed by a move: undefined removes a field, `now` stands for Redis's time. */
export type Change<R> = {
  readonly [Field in keyof R]?: R[Field] | (R[Field] extends number | undefined ? "now" : never) | undefined;
};

export interface MoveOptions {
  readonly events?: readonly MoveEvent[] | undefined;
  readonly condition?: MoveCondition | undefined;
}

/** Records that exist from their first move on, such as the last result of something configured. */
export type StateStore<R extends CommonFields> = ReturnType<typeof stateStore<R>>;
/** Records of work: `get` returns the work in progress, or the last one. */
export type RecordStore<R extends CommonFields> = ReturnType<typeof recordStore<R>>;

export interface Update<R> extends MoveOptions {
  readonly change: Change<R>;
}

/** @param keyOf returns the key of the record with a name */
export function stateStore<R extends CommonFields>(
  kind: RecordFields<R> & Partial<RecordKind<R>>,
  deps: StoreDeps,
  keyOf: (name: string) => string,
) {
  const { idField = "revision", stateField, entering = {} } = kind;
  const guarded = new Set<string>(["revision", idField, ...(stateField === undefined ? [] : [stateField])]);
  /** Undefined before the first move. */
  const get = async (name: string): Promise<R | undefined> => decode(kind, name, await deps.redis.hgetall(keyOf(name)));

  /**
   * Makes a move from the revision in which the record was read.
   * @param of the record; only the profile of one that does not exist
   * @returns the new record; `stale` if the record has been changed since, or the reply of the condition: nothing was
   *   changed
   */
  const move = async (
    name: string,
    of: Partial<R> & CommonFields,
    change: Change<R>,
    { events = [], condition }: MoveOptions = {},
  ): Promise<R | string> => {
    const textOf = (field: string): string => String(of[field as keyof R] ?? "");
    const isEntering = stateField !== undefined && (change[stateField] ?? of[stateField]) !== of[stateField];
    const entered: Change<R> = isEntering ? { ...entering, ...change } : change;
    const isChange = events.length > 0 || Object.keys(entered).length > 0;
    const whole = isChange ? { ...entered, revision: (of.revision ?? 0) + 1 } : entered;
    const source = {
      ...(kind.subject === undefined ? {} : { [kind.subject]: name }),
      cause: kind.idField === undefined ? undefined : textOf(idField) || undefined,
      by: of.startedBy,
    };
    const movedAtMs = await makeMove(deps, {
      key: keyOf(name),
      profile: of.profile,
      guard: [...guarded].flatMap((field) => [field, textOf(field)]),
      ...encode(whole),
      events: events.map(({ type, fields }) => ({ type, fields: { ...source, ...fields } })),
      condition,
    });
    return typeof movedAtMs === "string" ? movedAtMs : changed(of, whole, movedAtMs);
  };

  /**
   * Makes a move that does not depend on when the record was read.
   * @param decide returns undefined if there is nothing to change; called again if another process changes the record
   * @returns the new record; undefined if nothing was changed
   */
  const update = async (
    { name, profile }: { readonly name: string; readonly profile: string },
    decide: (record: R | undefined) => Update<R> | undefined,
  ): Promise<R | undefined> => {
    for (;;) {
      const record = await get(name);
      const wanted = decide(record);
      if (wanted === undefined) return undefined;
      const moved = await move(name, { ...record, profile } as Partial<R> & CommonFields, wanted.change, wanted);
      if (typeof moved !== "string") return moved;
    }
  };

  return { get, move, update };
}

/** A new id of work, such as `t-20261120-103045-482193`, with so many digits at its end. */
export function newWorkId(kind: string, nowMs: number, digits: number): string {
  return `${kind}-${stampOf(nowMs)}-${String(randomInt(10 ** digits)).padStart(digits, "0")}`;
}

/** @param keyOf returns the key of the record with a name */
export function recordStore<R extends CommonFields>(
  kind: RecordKind<R>,
  deps: StoreDeps,
  keyOf: (name: string) => string,
) {
  const { idField, stateField } = kind;
  const store = stateStore(kind, deps, keyOf);
  return {
    ...store,
    /** Starts work, or returns the record of the work in progress. */
    async begin(name: string, head: Change<R> & CommonFields): Promise<R> {
      const hash = await deps.redis.hgetall(keyOf(name));
      const before = decode(kind, name, hash);
      if (before === undefined || kind.isOver(before)) {
        const { set, remove } = encode({ ...head, revision: Number(hash.revision ?? 0) + 1 });
        const kept = new Set<string>([...kind.kept, "revision", ...Object.keys(head)]);
        await makeMove(deps, {
          key: keyOf(name),
          profile: head.profile,
          guard: [idField, stateField, "revision"].flatMap((field) => [field, hash[field] ?? ""]),
          set,
          remove: [...Object.keys(hash).filter((field) => !kept.has(field)), ...remove],
          events: [],
        });
      }
      const record = await store.get(name);
      if (record === undefined) throw new Error(`the record ${keyOf(name)} vanished`);
      return record;
    },
  };
}

/** The record after a move. */
function changed<R>(of: Partial<R>, change: Change<R>, movedAtMs: number): R {
  const fields = Object.entries({ ...of, ...change }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields.map(([field, value]) => [field, value === "now" ? movedAtMs : value])) as R;
}

/** A new record as `field, value, …`, for a script that stores it together with other keys. */
export function storedRecord(record: CommonFields): string[] {
  return encode({ ...record, revision: 1 }).set;
}

/** Encodes a change as fields to set (field, value, …) and fields to remove. */
function encode(change: object): { set: string[]; remove: string[] } {
  const set: string[] = [];
  const remove: string[] = [];
  for (const [field, value] of Object.entries<string | number | object | undefined>({ ...change })) {
    if (value === undefined) remove.push(field);
    else set.push(field, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  return { set, remove };
}

/** @returns undefined if the hash holds no work */
function decode<R extends CommonFields>(
  kind: RecordFields<R> & Partial<RecordKind<R>>,
  name: string,
  hash: Readonly<Record<string, string>>,
): R | undefined {
  if (hash[kind.idField ?? "revision"] === undefined) return undefined;
  const numbers = new Set<string>(["revision", ...(kind.numbers ?? [])]);
  const json = new Set<string>(["problem", ...(kind.json ?? [])]);
  const parseValue = (field: string, text: string): unknown => {
    if (json.has(field)) return JSON.parse(text);
    return field.endsWith("Ms") || numbers.has(field) ? Number(text) : text;
  };
  const fields = Object.entries(hash).map(([field, text]) => [field, parseValue(field, text)] as const);
  return { ...kind.defaults?.(name), ...Object.fromEntries(fields) } as unknown as R;
}
