/**
 * Reads the rows of a request: a CSV file as the body or as the form field `file`, or JSON that names a filter, SIMs or
 * a run. A file is passed on as it arrives, and never stored: whoever reads it makes rows of it. An upload that is too
 * large or stalls is rejected at once.
 */
import { hash } from "node:crypto";
import { Readable } from "node:stream";
import type { Multipart } from "@fastify/multipart";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { inTime, secondMs } from "#core/time.ts";
import { parseFilter } from "#fleet/filter.ts";
import { outcomes } from "#fleet/run.ts";
import { valuesForAll } from "#fleet/sim-operation/sim-operation.ts";
import { issueText } from "#contract/fields.ts";
import type { Rows } from "#contract/route.ts";
import type { ControlDeps } from "../deps.ts";

/** An upload is given up when no data arrives for this long. */
const stallMs = 30 * secondMs;

const runId = z.string().min(1).max(64);

export const rowsBody = z
  .strictObject({
    where: z.union([z.string().min(1).max(4_096), z.array(z.string().min(1).max(4_096)).min(1).max(20)]).optional(),
    sims: z.array(z.string().min(1).max(64)).min(1).max(10_000).optional().describe("SIM IDs or IMSIs"),
    retryOf: runId.optional().describe("a run whose failed and cancelled rows are sent again"),
    outcomes: z.array(z.enum(outcomes)).min(1).optional().describe("with retryOf: rows with these outcomes instead"),
    lines: z.array(z.number().int().min(1)).min(1).max(1_000).optional().describe("with retryOf: only these lines"),
    reason: z.string().min(1).max(2_000).optional().describe("with retryOf: only rows with this reason"),
    undoOf: runId.optional().describe("a run whose changes are undone"),
    operation: z.string().min(1).max(64).optional(),
    /** Short for `set: { speedClass }`. */
    speedClass: z.string().min(1).max(100).optional(),
    set: z.record(z.string().min(1).max(64), z.union([z.string().max(2_000), z.number(), z.boolean()])).optional(),
  })
  .refine(
    ({ where, sims, retryOf, undoOf }) =>
      [where, sims, retryOf, undoOf].filter((one) => one !== undefined).length === 1,
    "give one of where, sims, retryOf and undoOf",
  )
  .meta({ example: { where: "speedClass=s1.standard", operation: "set-speed-class", set: { speedClass: "s1.slow" } } });

interface UploadContext extends Pick<ControlDeps, "plans" | "clock" | "config"> {
  /** Who sends them. */
  readonly by: string;
}

/**
 * Hands over the rows of a request, within what its caller may have.
 * @throws SimfleetError PLAN_LIMIT, REQUEST_INVALID, what `use` throws
 */
export async function withRows<T>(
  request: FastifyRequest,
  context: UploadContext,
  use: (rows: Rows) => Promise<T>,
): Promise<T> {
  const reservation = await context.plans.reserve(context.by);
  const streams: Readable[] = [];
  try {
    return await use({ ...(await openRows(request, { ...context, reservation, streams })), upload: reservation });
  } finally {
    await reservation.release();
    for (const stream of streams) stream.resume();
  }
}

interface FileContext extends UploadContext {
  readonly reservation: Awaited<ReturnType<ControlDeps["plans"]["reserve"]>>;
  /** Takes streams that have to be read to their end: with an unread one the response would be lost. */
  readonly streams: Readable[];
}

/** @throws SimfleetError REQUEST_INVALID; reading the rows: TOO_LARGE, REQUEST_TIMEOUT, PLAN_LIMIT, REQUEST_INVALID */
async function openRows(request: FastifyRequest, context: FileContext): Promise<Rows> {
  if (request.isMultipart()) return rowsOfForm(request, context);
  const { body } = request;
  if (!(body instanceof Readable)) return namedRows(body);
  context.streams.push(body);
  return { from: { path: "upload.csv", read: () => metered(body, context) } };
}

/** The end of its file is also the end of the form: what follows is checked before the rows count as read. */
async function rowsOfForm(request: FastifyRequest, context: FileContext): Promise<Rows> {
  const parts = readParts(request);
  const first = await parts.next();
  if (first.done === true) throw notOneFile();
  const { file, filename } = first.value;
  context.streams.push(file);
  async function* read(): AsyncGenerator<Buffer> {
    try {
      yield* metered(file, context);
    } catch (thrown) {
      throw inWordsOfForms(thrown);
    }
    if ((await parts.next()).done !== true) throw notOneFile();
  }
  return { from: { path: cleanName(filename), read } };
}

type FilePart = Extract<Multipart, { type: "file" }>;

/** The files of a form. @throws SimfleetError REQUEST_INVALID for an unreadable form, or a file in another field */
async function* readParts(request: FastifyRequest): AsyncGenerator<FilePart> {
  try {
    for await (const part of request.parts()) {
      if (part.type !== "file") continue;
      if (part.fieldname !== "file") throw notOneFile();
      yield part;
    }
  } catch (thrown) {
    throw inWordsOfForms(thrown);
  }
}

/** An error of reading a form, as one of its sender. */
function inWordsOfForms(thrown: unknown): unknown {
  const code = (thrown as { code?: unknown }).code;
  if (code === "FST_FILES_LIMIT") return notOneFile();
  // The parser has no class of its own for a form that it cannot read.
  if (code !== undefined || !/multipart|needle/i.test(messageOf(thrown))) return thrown;
  return new SimfleetError("REQUEST_INVALID", `The form cannot be read: ${messageOf(thrown)}`);
}

function notOneFile(): SimfleetError {
  return new SimfleetError("REQUEST_INVALID", "The form must have exactly one file, in the field file");
}

/** Yields a stream as it comes, counted. @throws SimfleetError TOO_LARGE, REQUEST_TIMEOUT, PLAN_LIMIT */
async function* metered(stream: Readable, { config, clock, reservation }: FileContext): AsyncGenerator<Buffer> {
  const { uploadBytes } = config.http;
  // Ending the stream would end the connection, and so the response: the rest of a rejected file is read and dropped.
  const chunks = stream.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const read = await inTime(clock, stallMs, chunks.next() as Promise<IteratorResult<Buffer>>);
      if (read === undefined) {
        const message = `No data was received for ${stallMs / secondMs} s: send the file again`;
        throw new SimfleetError("REQUEST_TIMEOUT", message);
      }
      const chunk = read.value;
      if (chunk.done === true) return;
      if (reservation.bytes + chunk.value.length > uploadBytes) {
        throw new SimfleetError(
          "TOO_LARGE",
          `The file is larger than ${uploadBytes} bytes (http.uploadBytes): split it`,
        );
      }
      await reservation.grow(chunk.value.length);
      yield chunk.value;
    }
  } finally {
    void chunks.return?.().then(() => stream.resume());
  }
}

function namedRows(body: unknown): Rows {
  const { data, error } = rowsBody.safeParse(body);
  if (data === undefined) {
    const faults = error.issues.map((issue) => `${["body", ...issue.path].join(".")}: ${issueText(issue)}`);
    throw new SimfleetError(
      "REQUEST_INVALID",
      `Send a CSV file (text/csv, or the field file of a form), or JSON such as {"where": "tags.site=berlin", "operation": "set-speed-class", "set": {"speedClass": "s1.fast"}}. ${faults.join("; ")}`,
    );
  }
  const { where = "", sims, retryOf, undoOf, outcomes: which, lines, reason, operation } = data;
  const rows = { operation, set: valuesForAll(data), sha256: hash("sha256", JSON.stringify(data)) };
  if (sims !== undefined) return { ...rows, from: { sims } };
  if (retryOf !== undefined) return { ...rows, from: { retryOf, outcomes: which, lines, reason } };
  if (undoOf !== undefined) return { ...rows, from: { undoOf } };
  return { ...rows, from: { filter: parseFilter(where) } };
}

/** Without folders and control characters. */
function cleanName(written = ""): string {
  const last = written.split(/[/\\]/).at(-1) ?? "";
  const bare = last.replaceAll(/\p{Cc}/gu, "").trim();
  return bare === "" ? "upload.csv" : bare.slice(0, 200);
}
