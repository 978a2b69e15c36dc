/**
 * Reads the rows of a request: a CSV file as the body or as the form field `file`, or a filter in JSON. A file is
 * stored in the spool, and the caller of this module removes it.
 */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { parseFilter } from "#fleet/filter.ts";
import type { Rows } from "#contract/route.ts";
import type { Reservation, SpooledPlans } from "./spooled-plans.ts";
import type { Spool } from "./spool.ts";

export const filterBody = z.strictObject({
  where: z.union([z.string().min(1).max(4_096), z.array(z.string().min(1).max(4_096)).min(1).max(20)]),
  operation: z.string().min(1).max(64).optional(),
  /** Short for `set: { speedClass }`. */
  speedClass: z.string().min(1).max(100).optional(),
  set: z.record(z.string().min(1).max(64), z.union([z.string().max(2_000), z.number(), z.boolean()])).optional(),
});

/**
 * Reads the rows of a request, and removes the file afterwards unless it became a plan.
 * @param by who sends them
 * @throws SimfleetError PLAN_LIMIT, what `use` throws, and as `readUpload`
 */
export async function withRows<T>(
  request: FastifyRequest,
  { spool, plans, by }: { spool: Spool; plans: SpooledPlans; by: string },
  use: (rows: Rows) => Promise<T>,
): Promise<T> {
  const reservation = await plans.reserve(by);
  const name = plans.fileOf(reservation.id);
  try {
    return await use({ ...(await readUpload(request, { spool, name, reservation })), uploadId: reservation.id });
  } finally {
    await spool.remove(spool.path(name));
    reservation.release();
  }
}

/**
 * @param to `name` of the file in the spool, and the space reserved for it
 * @throws SimfleetError REQUEST_INVALID, TOO_LARGE, REQUEST_TIMEOUT, PLAN_LIMIT
 */
async function readUpload(
  request: FastifyRequest,
  to: { spool: Spool; name: string; reservation: Reservation },
): Promise<Rows> {
  if (request.isMultipart()) return fileOfForm(request, to);
  if (request.body instanceof Readable) return inSpool(request.body, { ...to, source: "upload.csv" });
  return filterOf(request.body);
}

async function fileOfForm(
  request: FastifyRequest,
  to: { spool: Spool; name: string; reservation: Reservation },
): Promise<Rows> {
  let rows: Rows | undefined;
  try {
    for await (const part of request.parts()) {
      if (part.type !== "file") continue;
      if (rows !== undefined || part.fieldname !== "file") throw notOneFile();
      rows = await inSpool(part.file, { ...to, source: nameOf(part.filename) });
    }
  } catch (thrown) {
    const code = (thrown as { code?: unknown }).code;
    if (code === "FST_FILES_LIMIT") throw notOneFile();
    // The parser has no class of its own for a form that it cannot read.
    if (code !== undefined || !/multipart|needle/i.test(messageOf(thrown))) throw thrown;
    throw new SimfleetError("REQUEST_INVALID", `The form cannot be read: ${messageOf(thrown)}`);
  }
  if (rows === undefined) throw notOneFile();
  return rows;
}

function notOneFile(): SimfleetError {
  return new SimfleetError("REQUEST_INVALID", "The form must have exactly one file, in the field file");
}

async function inSpool(
  stream: Readable,
  to: { spool: Spool; name: string; reservation: Reservation; source: string },
): Promise<Rows> {
  const { spool, name, reservation, source } = to;
  const { sha256 } = await spool.take(stream, name, (bytes) => reservation.grow(bytes));
  return { from: spool.inputFile(spool.path(name)), source, sha256 };
}

function filterOf(body: unknown): Rows {
  const read = filterBody.safeParse(body);
  if (!read.success) {
    const faults = read.error.issues.map(({ path, message }) => `${["body", ...path].join(".")}: ${message}`);
    throw new SimfleetError(
      "REQUEST_INVALID",
      `Send a CSV file (text/csv, or the field file of a form), or JSON such as {"where": "tags.site=berlin", "operation": "set-speed-class", "set": {"speedClass": "s1.fast"}}. ${faults.join("; ")}`,
    );
  }
  const { where, operation, speedClass } = read.data;
  const filter = parseFilter(where);
  const given = Object.entries(read.data.set ?? {}).map(([name, value]) => [name, String(value)] as const);
  const set = { ...(speedClass === undefined ? {} : { speedClass }), ...Object.fromEntries(given) };
  const sha256 = createHash("sha256")
    .update(JSON.stringify([filter.text, operation, set]))
    .digest("hex");
  return { from: { filter }, source: filter.text, operation, set, sha256 };
}

/** Without folders and control characters. */
function nameOf(written: string | undefined): string {
  const bare =
    (written ?? "")
      .split(/[/\\]/)
      .at(-1)
      ?.replaceAll(/\p{Cc}/gu, "")
      .trim() ?? "";
  return bare === "" ? "upload.csv" : bare.slice(0, 200);
}
