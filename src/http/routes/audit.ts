/** Who changed what. */
import { z } from "zod";
import type { AuditEntry } from "#jobs/audit/service.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { count, entryCursor, instant, ofPage, pageOf, shapeOf } from "#contract/fields.ts";

const entry = shapeOf<AuditEntry>()({
  id: z.string(),
  at: instant,
  who: z.string().nullable(),
  role: z.string().nullable(),
  action: z.string(),
  target: z.string().nullable(),
  result: z.enum(["done", "refused", "failed", "not recorded"]),
  status: count.nullable(),
  exitCode: count.nullable(),
  requestId: z.string(),
  from: z.string(),
});

export function auditRoutes(api: Api, { app }: ControlDeps): void {
  api.get(
    "/audit",
    {
      config: { role: "admin" },
      schema: {
        ...{ summary: "List changes and rejected attempts with their callers, newest first", tags: ["audit"] },
        querystring: z.strictObject({ ...ofPage, cursor: entryCursor }),
        response: { 200: pageOf("entries", entry) },
      },
    },
    async ({ query }) => app.control.audit.list(query),
  );
}
