/** A failed request in words: what happened, and what to do. */

/** A location in a file or a configuration, and its problem. */
export interface Fault {
  readonly where: string;
  readonly message: string;
}

export class Problem extends Error {
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  /** An error code of docs/reference/errors.md, if the server sent one. */
  readonly code: string | undefined;
  readonly faults: readonly Fault[];

  constructor(status: number, message: string, more: { code?: string | undefined; faults?: readonly Fault[] } = {}) {
    super(message);
    this.status = status;
    this.code = more.code;
    this.faults = more.faults ?? [];
  }
}

/** @param body the response text: problem+json of our server, or anything that a proxy may have sent instead */
export function problemOf(status: number, body: string): Problem {
  const { detail, title, code, problems } = recordOf(body);
  const said = typeof detail === "string" ? detail : typeof title === "string" ? title : textOf(status);
  const faults = Array.isArray(problems) ? problems.filter(isFault) : [];
  return new Problem(status, said, { code: typeof code === "string" ? code : undefined, faults });
}

/** The same for any thrown value, in particular for a request without a response. */
export function problemFrom(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  const isNetwork = thrown instanceof TypeError;
  return new Problem(0, isNetwork ? "The worker is not responding." : String(thrown));
}

/** Advice for the user. Undefined if the message has it. */
export function adviceOf({ status, code }: Pick<Problem, "status" | "code">): string | undefined {
  if (status === 0)
    return "Check that it is running: simfleet check on its machine shows problems. This page retries automatically.";
  // The worker tells what the platform answered.
  if (code?.startsWith("PLATFORM_") === true) return undefined;
  if (status === 403)
    return "Ask an admin for a token with another role: simfleet tokens create --name NAME --role operator";
  if (status === 429) return "Too many requests. This page retries automatically.";
  if (code === "STORE_UNAVAILABLE")
    return "The worker cannot reach Redis. Nothing is lost; work resumes when Redis is back.";
  if (status === 502 || status === 504) return "Probably a proxy in front of the worker got no response from it.";
  if (status >= 500) return "See the worker's log for the cause.";
  return undefined;
}

function textOf(status: number): string {
  if (status === 401) return "The token is missing, invalid or expired.";
  if (status === 403) return "The role of this token does not allow this.";
  if (status === 404) return "Not found.";
  if (status === 413) return "The file is larger than the worker, or a proxy in front of it, accepts.";
  return `The worker responded with status ${status}.`;
}

function recordOf(body: string): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(body);
    return typeof read === "object" && read !== null ? (read as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function isFault(value: unknown): value is Fault {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Fault).where === "string" &&
    typeof (value as Fault).message === "string"
  );
}
