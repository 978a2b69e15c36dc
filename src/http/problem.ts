/**
 * The one place where an error becomes an HTTP answer: `application/problem+json` (RFC 9457) with a code of the error
 * catalog. An unexpected error is logged in full and sent as INTERNAL without its message, which may contain a secret.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { hasZodFastifySchemaValidationErrors, type ZodFastifySchemaValidationError } from "fastify-type-provider-zod";
import { z } from "zod";
import { issueText, list } from "#contract/fields.ts";
import { ConfigError, type ErrorCode, errorCatalogue, IntakeError, type Problem, SimfleetError } from "#core/errors.ts";

/** An error as it is sent (RFC 9457). */
export const problemDocument = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number(),
  detail: z.string(),
  code: z.enum(Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]]),
  instance: z.string().describe("ID of the request, as in the log and the audit log"),
  problems: list(z.object({ where: z.string(), message: z.string() })).optional(),
});

type ProblemDocument = Readonly<z.infer<typeof problemDocument>>;

/** Our codes for errors of Fastify and its plugins, by status. */
const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  404: "NOT_FOUND",
  408: "REQUEST_TIMEOUT",
  413: "TOO_LARGE",
  415: "BODY_UNSUPPORTED",
  429: "TOO_MANY_REQUESTS",
  503: "OVERLOADED",
};

/** Seconds after which a new try is worth it, where nothing says it better. */
const retrySeconds: Readonly<Partial<Record<ErrorCode, number>>> = {
  OVERLOADED: 10,
  STORE_UNAVAILABLE: 5,
  AUDIT_UNAVAILABLE: 5,
  PLATFORM_RATE_LIMITED: 60,
};

export async function sendProblem(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const problem = problemOf(thrown, request.id);
  const { code, status } = problem;
  if (status === 401) reply.header("www-authenticate", "Bearer");
  const seconds = retryAfterSeconds(thrown, code);
  if (seconds !== undefined && !reply.hasHeader("retry-after")) reply.header("retry-after", seconds);
  return reply
    .code(status)
    .type("application/problem+json")
    .header("cache-control", "no-store")
    .serializer((document: unknown) => JSON.stringify(document))
    .send(problem);
}

/** The value of `Retry-After`; undefined if a new try is not worth it. */
export function retryAfterSeconds(thrown: unknown, code: ErrorCode): number | undefined {
  const waitMs = thrown instanceof SimfleetError ? thrown.retryAfterMs : undefined;
  return waitMs === undefined ? retrySeconds[code] : Math.ceil(waitMs / 1_000);
}

export function problemOf(thrown: unknown, requestId: string): ProblemDocument {
  const { code, detail, problems, status } = toWords(thrown);
  return {
    type: `urn:simfleet:error:${code}`,
    title: errorCatalogue[code].meaning,
    status: status ?? errorCatalogue[code].status,
    detail,
    code,
    instance: `urn:simfleet:request:${requestId}`,
    ...(problems === undefined ? {} : { problems }),
  };
}

interface Words {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly problems?: readonly Problem[];
  /** Where it is not the code's own. */
  readonly status?: number;
}

function toWords(thrown: unknown): Words {
  if (thrown instanceof ConfigError) return { code: thrown.code, detail: thrown.message, problems: thrown.problems };
  if (thrown instanceof IntakeError) return { code: thrown.code, detail: thrown.message, ...describePlace(thrown) };
  if (thrown instanceof SimfleetError) return { code: thrown.code, detail: thrown.message };
  if (hasZodFastifySchemaValidationErrors(thrown)) return invalid(thrown);
  const { statusCode, message } = thrown as Partial<FastifyError>;
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    const code = codeOfStatus[statusCode] ?? "REQUEST_INVALID";
    return { code, detail: message ?? "", status: statusCode };
  }
  return {
    code: "INTERNAL",
    detail: "Internal error: see the worker's log under this request's ID",
  };
}

function describePlace({ line, column, message }: IntakeError): Pick<Words, "problems"> {
  if (line === undefined) return {};
  const where = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
  return { problems: [{ where, message }] };
}

interface Invalid extends Pick<FastifyError, "validationContext"> {
  readonly validation: readonly ZodFastifySchemaValidationError[];
}

/** Each fault with its place: `query.limit`, `body.where`. */
function invalid({ validationContext, validation }: Invalid): Words {
  const part = validationContext === "querystring" ? "query" : (validationContext ?? "request");
  const problems = validation.map(({ instancePath, keyword, message = "is not valid", params }) => ({
    where: `${part}${instancePath.replaceAll("/", ".")}`.replace(/\.$/, ""),
    message: issueText({ ...params, code: keyword, message, path: [] } as unknown as Parameters<typeof issueText>[0]),
  }));
  return {
    code: "REQUEST_INVALID",
    detail: problems.map(({ where, message }) => `${where}: ${message}`).join("; "),
    problems,
  };
}
