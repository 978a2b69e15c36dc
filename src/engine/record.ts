/**
 * A store of durable records: one hash per name, saved move by move, so that interrupted work is resumed or rolled back from
 * its record alone. A move is made only from the state in which the record was read, and emits its events in the same
 * script: if two processes try the same move, one succeeds.
 */
import { type MoveCondition, type MoveEvent, makeMove } from "./move-record.ts";
import { type Problem, problemFieldNames, problemFields, problemIn } from "./problem.ts";
import type { StoreDeps } from "./store-deps.ts";

/** Fields that every record has, besides its id and state. */
interface CommonFields {
  readonly profile: string;
  /** Who requested the work. */
  readonly startedBy?: string | undefined;
  /** Set while the work fails. */
  readonly problem?: Problem | undefined;
}

/** How one kind of record is stored. Fields whose names end with `Ms` hold numbers. */
export interface RecordKind<R extends CommonFields> {
  readonly idField: keyof R & string;
  readonly stateField: keyof R & string;
  /** Other fields that hold numbers. */
  readonly numbers: readonly (keyof R & string)[];
  /** Fields that hold lists of texts, as JSON. */
  readonly lists: readonly (keyof R & string)[];
  /** Fields that the next `begin` keeps. */
  readonly kept: readonly (keyof R & string)[];
  /** Values of fields that the stored record with a name may lack. */
  readonly defaults: (name: string) => Partial<R>;
  /** What every move to another state also changes, unless it says otherwise. */
  readonly entering: Change<R>;
  readonly isOver: (record: R) => boolean;
}

/** Fields changed by a move: undefined removes a field, `now` stands for Redis's time. */
export type Change<R> = {
  readonly [Field in keyof R]?: R[Field] | (R[Field] extends number | undefined ? "now" : never) | undefined;
};

/** What `move` does besides changing fields. */
export interface MoveOptions {
  readonly events?: readonly MoveEvent[];
  readonly condition?: MoveCondition | undefined;
}

export interface RecordStore<R> {
  /** The work in progress, or the last one; undefined if there never was any. */
  get(name: string): Promise<R | undefined>;
  /** Begins work, or returns the record of the work in progress. */
  begin(name: string, head: Change<R> & CommonFields): Promise<R>;
  /**
   * Makes a move from the state in which the record was read.
   * @param of its id and state; empty for a record that does not exist
   * @returns `moved`; `stale` if the work has moved on, or the reply of the condition: nothing was changed
   */
  move(name: string, of: Partial<R> & CommonFields, change: Change<R>, options?: MoveOptions): Promise<string>;
}

/** @param keyOf returns the key of the record with a name */
export function recordStore<R extends CommonFields>(
  kind: RecordKind<R>,
  deps: StoreDeps,
  keyOf: (name: string) => string,
): RecordStore<R> {
  const { idField, stateField } = kind;
  const read = (name: string): Promise<Record<string, string>> => deps.redis.hgetall(keyOf(name));
  const get = async (name: string): Promise<R | undefined> => decode(kind, name, await read(name));
  return {
    get,
    async begin(name, head) {
      const hash = await read(name);
      const before = decode(kind, name, hash);
      if (before === undefined || kind.isOver(before)) {
        const { set } = encode(head);
        const kept = new Set<string>([...kind.kept, ...Object.keys(head)]);
        await makeMove(deps, {
          key: keyOf(name),
          profile: head.profile,
          guard: [idField, hash[idField] ?? "", stateField, hash[stateField] ?? ""],
          set,
          remove: [...Object.keys(hash).filter((field) => !kept.has(field)), ...encode(head).remove],
          events: [],
        });
      }
      const record = await get(name);
      if (record === undefined) throw new Error(`the record ${keyOf(name)} vanished`);
      return record;
    },
    move(name, of, change, { events = [], condition } = {}) {
      const id = String(of[idField] ?? "");
      const isMoved = change[stateField] !== undefined && change[stateField] !== of[stateField];
      const source = { cause: id === "" ? undefined : id, by: of.startedBy };
      return makeMove(deps, {
        key: keyOf(name),
        profile: of.profile,
        guard: [idField, id, stateField, String(of[stateField] ?? "")],
        ...encode(isMoved ? { ...kind.entering, ...change } : change),
        events: events.map(({ type, fields }) => ({ type, fields: { ...source, ...fields } })),
        condition,
      });
    },
  };
}

/** Encodes a change as fields to set (field, value, …) and fields to remove. */
function encode(change: object): { set: string[]; remove: string[] } {
  const set: string[] = [];
  const remove: string[] = [];
  const { problem, ...others } = change as { problem?: Problem };
  const fields: Record<string, string | number | object | undefined> =
    "problem" in change ? { ...others, ...problemFields(problem) } : others;
  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined) remove.push(field);
    else set.push(field, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  return { set, remove };
}

const fieldsOfProblem: ReadonlySet<string> = new Set(problemFieldNames);

/** @returns undefined if the hash holds no work */
function decode<R extends CommonFields>(
  kind: RecordKind<R>,
  name: string,
  hash: Readonly<Record<string, string>>,
): R | undefined {
  if (hash[kind.idField] === undefined) return undefined;
  const valueOf = (field: string, text: string): unknown => {
    if (kind.lists.includes(field as keyof R & string)) return JSON.parse(text);
    const isNumber = field.endsWith("Ms") || kind.numbers.includes(field as keyof R & string);
    return isNumber ? Number(text) : text;
  };
  const fields = Object.entries(hash).flatMap(([field, text]) =>
    fieldsOfProblem.has(field) ? [] : [[field, valueOf(field, text)] as const],
  );
  return { ...kind.defaults(name), ...Object.fromEntries(fields), problem: problemIn(hash) } as unknown as R;
}
