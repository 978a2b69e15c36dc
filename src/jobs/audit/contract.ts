/** The route of the audit log. */
import { z } from "zod";
import { count, entryCursor, id, instant, list, ofPage, pageOf, several, since, until } from "#contract/fields.ts";
import { route } from "#contract/route.ts";

/** The kinds of audited actions: those that features declare, and `other`. */
export function auditKindsOf(features: readonly { readonly audit?: string }[]): string[] {
  return [...new Set(features.flatMap(({ audit }) => audit ?? [])), "other"];
}

/** The export has its fields in this order. */
export const auditEntry = z.object({
  id: z.string(),
  at: instant,
  who: z.string().nullable().describe("null: the caller is not known"),
  role: z.string().nullable(),
  action: z.string().describe("`POST /v1/runs/:runId/cancel`, `simfleet runs cancel`"),
  did: z.string().nullable().describe("the action in words, before the target: `paused the run`; null for a command"),
  target: z.string().nullable().describe("what it was done to"),
  made: z.string().nullable().describe("the ID of what it made, such as a run"),
  about: z.string().nullable().describe("what was done: `undid r-A by r-B`, or what a run changes"),
  result: z
    .enum(["done", "rejected", "failed", "not recorded"])
    .describe("not recorded: the process ended before it could record it, or the change is still in progress"),
  status: count.nullable().describe("HTTP status; null for a command, and if not recorded"),
  exitCode: count.nullable().describe("of a command; null for a request, and if not recorded"),
  from: z.string().describe("address of the client, or name of the machine on which the command was run"),
  requestId: z.string(),
});

export type AuditEntry = Readonly<z.infer<typeof auditEntry>>;

const chosen = {
  since,
  until,
  who: id.optional().describe("only what this caller did: `token:anna`"),
  kind: several(z.string().max(64)).describe("only actions of these kinds: `runs`, `syncs`, `other` and so on"),
} as const;

export const listAudit = route({
  method: "GET",
  path: "/audit",
  role: "admin",
  summary: "List changes and rejected attempts with their callers, newest first",
  query: z.strictObject({ ...ofPage, cursor: entryCursor, ...chosen }),
  answer: pageOf("entries", auditEntry).extend({ kinds: list(z.string()).describe("the kinds of actions") }),
});

export const exportAudit = route({
  method: "GET",
  path: "/audit/export",
  role: "admin",
  summary: "Export the audit log as CSV, newest first",
  query: z.strictObject(chosen),
  answer: "lines",
});
