/**
 * The one family of errors. Callers switch on `code`, never on the message. `disposition` says whether a retry helps:
 * `never` (the same call fails again), `later` (waiting fixes it, no attempt is spent), `retry` (try again with
 * back-off, attempts counted). A message says what happened, to which thing, and what to do about it.
 */
export type Disposition = "never" | "later" | "retry";

const entry = (disposition: Disposition) => (exitCode: number, status: number, meaning: string) => {
  return { disposition, exitCode, status, meaning };
};
const [never, later, retry] = [entry("never"), entry("later"), entry("retry")];

/** Every code: the exit code of a command that ends with it, the HTTP status, and what it means to an operator. */
export const errorCatalogue = {
  USAGE: never(2, 400, "The command line has a missing, unknown or contradictory argument."),
  CONFIG_INVALID: never(2, 409, "The configuration is invalid; each problem is listed with its path or variable."),
  INPUT_INVALID: never(2, 422, "The input file is invalid; the message names line and column."),
  NO_SIM_MATCHES: never(2, 409, "A filter matches no SIM of the inventory."),
  SCHEDULE_NOT_FOUND: never(2, 404, "No configured schedule has this name."),
  AUTOMATION_NOT_FOUND: never(2, 404, "No configured automation has this name."),
  AUTOMATION_STATE_CONFLICT: never(2, 409, "The automation is paused or stopped itself."),
  RUN_NOT_FOUND: never(2, 404, "No run has this ID."),
  ROWS_REMOVED: never(
    2,
    410,
    "The rows of the run were removed after their retention period; the message names the archived results, if any.",
  ),
  RUN_STATE_CONFLICT: never(2, 409, "The state of the run does not allow this action."),
  NOT_CONFIRMED: never(2, 409, "The operation is irreversible, and the number of its SIMs was not confirmed."),
  OPERATION_NOT_FOUND: never(2, 404, "The platform definition has no SIM operation of this name."),
  RESULTS_NOT_WRITABLE: never(
    4,
    500,
    "The results file could not be written (disk full, no permission); no outcome is lost: write them again with `simfleet runs results`.",
  ),
  ROTATION_NOT_FOUND: never(2, 404, "No configured rotation has this name."),
  ROTATION_STATE_CONFLICT: never(
    2,
    409,
    "The state of the rotation, or of the account's Credential Sets or AuthKeys, does not allow this action.",
  ),
  WEBHOOK_NOT_FOUND: never(2, 404, "No configured webhook has this name."),
  WEBHOOK_STOPPED: never(
    2,
    409,
    "The webhook is stopped, because its endpoint returned 410 Gone; `simfleet webhooks resume` resumes it.",
  ),
  DELIVERY_NOT_FOUND: never(2, 404, "No stored delivery has this ID."),
  SECRET_GENERATION_FAILED: never(
    1,
    502,
    "The new secret could not be generated: its program or file failed, or returned something unusable.",
  ),
  SINK_FAILED: retry(
    1,
    502,
    "A sink did not accept the new secret. The delivery is retried several times before the rotation is rolled back.",
  ),
  SEAL_DECRYPTION_FAILED: later(
    2,
    409,
    "An encrypted secret cannot be decrypted with the configured keys; the rotation waits for the right one.",
  ),
  PLATFORM_REJECTED: never(
    1,
    502,
    "The platform rejected this call and would reject it again (a 4xx status other than 401, 403, 429).",
  ),
  PLATFORM_UNAUTHORIZED: never(3, 502, "The platform rejected the credentials."),
  PLATFORM_FORBIDDEN: never(3, 502, "The credentials are valid but lack a permission or the coverage."),
  PLATFORM_RATE_LIMITED: later(4, 503, "The quota of the API group is used up; calls continue after the reset."),
  CHANGES_FROZEN: later(
    4,
    503,
    "Changes are frozen, and a call that may change something, from the gateway or by hand, is not sent.",
  ),
  PLATFORM_UNAVAILABLE: retry(
    4,
    502,
    "The platform returned no usable response (connection error, timeout, 5xx status).",
  ),
  PLATFORM_RESPONSE_INVALID: never(
    4,
    502,
    "The platform's response does not match its API; often the address is wrong.",
  ),
  STORE_FULL: later(4, 507, "Redis has too little memory for the run. Nothing was stored."),
  STORE_UNAVAILABLE: retry(
    4,
    503,
    "Redis cannot be reached, is too old, or is configured in a way that could lose data.",
  ),
  WORKER_STUCK: retry(
    4,
    503,
    "The worker had work but started none, even after reconnecting to Redis. It exited so that its supervisor restarts it.",
  ),
  REQUEST_INVALID: never(
    2,
    400,
    "A request to the control API or the gateway is invalid: an unknown parameter or field, or a wrong value.",
  ),
  NOT_FOUND: never(2, 404, "The requested resource does not exist; the message says which."),
  UNAUTHENTICATED: never(
    3,
    401,
    "The request to the control API or the gateway has no token, or an invalid or expired one.",
  ),
  FORBIDDEN: never(3, 403, "The caller's role does not allow this request, or its origin or host is not allowed."),
  TOO_LARGE: never(2, 413, "The request body is larger than the control API accepts."),
  BODY_UNSUPPORTED: never(2, 415, "The route does not accept this content type; the message lists the accepted types."),
  REQUEST_TIMEOUT: retry(4, 408, "The request body was not received in time."),
  TOO_MANY_REQUESTS: later(
    4,
    429,
    "The caller sent too many requests, or too many invalid credentials came from its address; `Retry-After` says when to retry.",
  ),
  WORKER_UNREACHABLE: retry(
    4,
    502,
    "The worker of `--server` cannot be reached, or its address is not that of a simfleet worker.",
  ),
  AUDIT_UNAVAILABLE: retry(4, 503, "The audit entry of a change could not be written, so the change was not made."),
  PLAN_LIMIT: later(4, 429, "The caller has reached the limit on the number or total size of plans."),
  OVERLOADED: later(4, 503, "The worker is overloaded; retry later."),
  IDEMPOTENCY_REUSED: never(
    2,
    422,
    "The `Idempotency-Key` was used for another request of this caller; a new request needs a new key.",
  ),
  INTERNAL: never(4, 500, "A bug in simfleet; please report it."),
};

export type ErrorCode = keyof typeof errorCatalogue;

export class SimfleetError extends Error {
  readonly code: ErrorCode;
  /** How long to wait before the next try, where that is known. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown; retryAfterMs?: number | undefined }) {
    super(message, options);
    this.name = "SimfleetError";
    this.code = code;
    this.retryAfterMs = options?.retryAfterMs;
  }

  get disposition(): Disposition {
    return errorCatalogue[this.code].disposition;
  }

  get exitCode(): number {
    return errorCatalogue[this.code].exitCode;
  }
}

/** One fault of a configuration or an input: where it is, and what to do. */
export interface Problem {
  /** Path in the YAML file (`profiles.default.coverage`), name of a variable, or `line 7, column speedClass`. */
  readonly where: string;
  readonly message: string;
}

/** All faults of a configuration at once. */
export class ConfigError extends SimfleetError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    super(
      "CONFIG_INVALID",
      `The configuration has ${count}:\n${problems.map((p) => `  ${p.where}: ${p.message}`).join("\n")}`,
    );
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** A file that cannot be taken in at all (one bad row is a row's verdict, not this error). */
export class IntakeError extends SimfleetError {
  readonly line: number | undefined;
  readonly column: string | undefined;
  /** The message for readers who may not know what the file holds: it quotes nothing but names of known columns. */
  readonly withoutContent: string;

  constructor(message: string, at: { line?: number; column?: string; cause?: unknown; withoutContent?: string } = {}) {
    super("INPUT_INVALID", message, { cause: at.cause });
    this.name = "IntakeError";
    this.line = at.line;
    this.column = at.column;
    this.withoutContent = at.withoutContent ?? message;
  }
}

type PlatformCode = Extract<ErrorCode, `PLATFORM_${string}` | "CONFIG_INVALID">;

/** Failure of one call, by the platform or on the way to it. */
export class PlatformError extends SimfleetError {
  /** The operation's id, `listSims`. */
  readonly operation: string;
  /** HTTP status, where a response came. */
  readonly status: number | undefined;
  /** The platform's own error code, where its body carried one (interface, section 7). */
  readonly platformCode: string | undefined;
  /**
   * Whether the platform may have carried the call out although no good answer came: a lost response is an unknown
   * outcome, not a failure.
   */
  readonly mayHaveApplied: boolean;
  /** With PLATFORM_RATE_LIMITED: the bucket that is empty. */
  readonly bucket: string | undefined;
  /** Whether the response was larger than what is read of one: a list can be asked for in shorter pages. */
  readonly isAnswerTooLarge: boolean;

  constructor(
    code: PlatformCode,
    message: string,
    facts: Pick<PlatformError, "operation"> &
      Partial<Pick<PlatformError, "status" | "platformCode" | "mayHaveApplied" | "bucket" | "isAnswerTooLarge">> &
      Partial<Pick<PlatformError, "cause" | "retryAfterMs">>,
  ) {
    // With PLATFORM_RATE_LIMITED, and where the platform asks for a pause.
    super(code, message, { cause: facts.cause, retryAfterMs: facts.retryAfterMs });
    this.name = "PlatformError";
    this.operation = facts.operation;
    this.status = facts.status;
    this.platformCode = facts.platformCode;
    this.mayHaveApplied = facts.mayHaveApplied ?? false;
    this.bucket = facts.bucket;
    this.isAnswerTooLarge = facts.isAnswerTooLarge ?? false;
  }
}

/** The entry of a section with a name, such as a `schedule` of `schedules`. @throws SimfleetError with this code */
export function entryNamed<T>(entries: [string, T][], name: string, what: string, code: ErrorCode): T {
  const found = entries.find(([known]) => known === name);
  if (found !== undefined) return found[1];
  const known = entries.map(([one]) => one).join(", ");
  const hint = known === "" ? `none are configured under \`${what}s\`` : `known are: ${known}`;
  throw new SimfleetError(code, `There is no ${what} ${name} in the configuration; ${hint}`);
}

/** The cursor of a page that was never returned. */
export function badCursor(cursor: string): SimfleetError {
  const message = `${JSON.stringify(cursor)} is not a valid cursor: use the nextCursor of the previous page`;
  return new SimfleetError("USAGE", message);
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The code of an error of the system or a library, such as `ECONNREFUSED`; its message may quote what it was about. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;
}
