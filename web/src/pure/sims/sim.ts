/** The fields of a SIM, one line each, and how two readings of it differ; and what happened to it, newest first. */
import type { Change, SimRun } from "../shapes.ts";

/** Facts about the record, shown apart from the fields of the SIM. */
const metadata = new Set(["addedAt", "updatedAt", "updatedBy", "seenAt", "goneAt"]);

/** Fields that the inventory stores by default: one that a SIM did not have then is missing in what is stored. */
const basics = new Set(["groupId", "speedClass", "status"]);

/** Fields that a platform may keep elsewhere in its record. */
const relocated = new Set(["imsi", "subscription"]);

export type Leaves = ReadonlyMap<string, unknown>;

/** The members of an object by path: `tags.site`. A list is one value; fields without a value are left out. */
export function leavesOf(record: Readonly<Record<string, unknown>>): Leaves {
  const leaves = new Map<string, unknown>();
  const add = (path: string, value: unknown): void => {
    if (value === null || value === undefined) return;
    if (typeof value !== "object" || Array.isArray(value)) leaves.set(path, value);
    else for (const [name, member] of Object.entries(value)) add(`${path}.${name}`, member);
  };
  for (const [name, value] of Object.entries(record)) if (!metadata.has(name)) add(name, value);
  return leaves;
}

export interface FieldLine {
  readonly field: string;
  readonly stored: unknown;
  readonly fresh: unknown;
  readonly isDifferent: boolean;
}

/**
 * The stored fields with the values that the platform shows now, and those that would be stored by now, such as a new
 * tag. A field that the platform no longer has is different.
 */
export function comparedFields(stored: Leaves, fresh: Leaves): FieldLine[] {
  const objects = new Set([...stored.keys()].filter((path) => path.includes(".")).map(objectOf));
  const added = [...fresh.keys()].filter(
    (path) => !stored.has(path) && (objects.has(objectOf(path)) || basics.has(path)),
  );
  const values = new Set([...fresh.values()].map(String));
  return [...stored.keys(), ...added].map((field) => {
    const before = stored.get(field);
    const isElsewhere = relocated.has(field) && !fresh.has(field) && values.has(String(before));
    const now = isElsewhere ? before : fresh.get(field);
    return { field, stored: before, fresh: now, isDifferent: JSON.stringify(before) !== JSON.stringify(now) };
  });
}

/** Fields that only the platform's record has. */
export function otherFields(stored: Leaves, fresh: Leaves): [field: string, value: unknown][] {
  const shown = new Set(comparedFields(stored, fresh).map(({ field }) => field));
  return [...fresh].filter(([field]) => !shown.has(field));
}

/** Empty for a field of the record itself. */
function objectOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

/** Epoch milliseconds of this century as an ISO instant; undefined for anything else. */
export function instantOf(value: unknown): string | undefined {
  return typeof value === "number" && value > 978_307_200_000 && value < 4_102_444_800_000
    ? new Date(value).toISOString()
    : undefined;
}

export type Happening =
  | { readonly at: string; readonly run: SimRun; readonly changes: readonly Change[] }
  | { readonly at: string; readonly change: Change };

/** Rows of runs, and changes that no run made or that runs caused; those of one of the runs are shown with it. */
export function timelineOf(runs: readonly SimRun[], changes: readonly Change[]): Happening[] {
  const ids = new Set(runs.map(({ runId }) => runId));
  const ofRuns = runs.map((run) => ({
    at: run.finishedAt ?? run.createdAt,
    run,
    changes: changes.filter(({ cause }) => cause === run.runId),
  }));
  const others = changes.filter(({ cause }) => !ids.has(cause)).map((change) => ({ at: change.at, change }));
  return [...ofRuns, ...others].toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
}
