/** The texts of the commands of the audit log. */

export const auditSummary = "audit log: who changed what";

/** The commands `simfleet audit …`. */
export const auditStrings = {
  list: "list changes and rejected attempts, newest first",
  since:
    "only entries since an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset",
  who: "only what this caller did, such as token:anna",
  kind: (kinds: readonly string[]) => `only this kind: ${kinds.join(", ")}; repeatable`,
  none: "No entries.",
  noResult: "no result recorded",
  exitCode: (code: number | null) => `exit ${code}`,
} as const;
