/**
 * The one family of errors. Callers switch on `code`, never on the message. `disposition` says what a retry is worth:
 * `never` (the same call fails again), `later` (a wait mends it, no attempt is spent), `retry` (try again with
 * back-off, attempts counted). A message says what happened, to which thing, and what to do about it.
 */
export type Disposition = "never" | "later" | "retry";

/** Every code there is, what it means to an operator, and the exit code of a command that ends with it. */
export const errorCatalogue = {
  USAGE: { disposition: "never", exitCode: 2, meaning: "The command was called in a way that makes no sense." },
  CONFIG_INVALID: {
    disposition: "never",
    exitCode: 2,
    meaning: "The configuration has faults; each is listed with its path or variable.",
  },
  INTAKE_INVALID: {
    disposition: "never",
    exitCode: 2,
    meaning: "The input file cannot be taken as it is; line and column are named.",
  },
  NO_SIM_MATCHES: { disposition: "never", exitCode: 2, meaning: "A filter means no SIM of the inventory." },
  SCHEDULE_NOT_FOUND: { disposition: "never", exitCode: 2, meaning: "No schedule of the configuration has this name." },
  AUTOMATION_NOT_FOUND: {
    disposition: "never",
    exitCode: 2,
    meaning: "No automation of the configuration has this name.",
  },
  AUTOMATION_STATE: { disposition: "never", exitCode: 2, meaning: "The automation is paused or has stopped itself." },
  RUN_NOT_FOUND: { disposition: "never", exitCode: 2, meaning: "No run has this id." },
  RUN_STATE: { disposition: "never", exitCode: 2, meaning: "The run's state does not allow what was asked." },
  RESULTS_NOT_WRITABLE: {
    disposition: "never",
    exitCode: 4,
    meaning: "The results file could not be written (disk full, no permission); the ledger still holds every outcome.",
  },
  ROTATION_NOT_FOUND: { disposition: "never", exitCode: 2, meaning: "No rotation of the configuration has this name." },
  ROTATION_STATE: {
    disposition: "never",
    exitCode: 2,
    meaning:
      "The rotation, or the account's Credential Sets or AuthKeys, are not in a state that allows what was asked.",
  },
  WEBHOOK_NOT_FOUND: { disposition: "never", exitCode: 2, meaning: "No webhook of the configuration has this name." },
  WEBHOOK_STOPPED: {
    disposition: "never",
    exitCode: 2,
    meaning: "The webhook's receiver wants nothing more; `simfleet webhooks resume` lets it go on.",
  },
  DELIVERY_NOT_FOUND: { disposition: "never", exitCode: 2, meaning: "No delivery that is kept has this id." },
  SECRET_GENERATION_FAILED: {
    disposition: "never",
    exitCode: 1,
    meaning: "The new secret did not come to be: the program or file that gives it failed, or gave something else.",
  },
  SINK_FAILED: {
    disposition: "retry",
    exitCode: 1,
    meaning: "A sink did not take the new secret. It is tried again some times before the rotation is taken back.",
  },
  SEAL_DECRYPTION_FAILED: {
    disposition: "later",
    exitCode: 2,
    meaning:
      "A sealed secret cannot be opened with the keys that are configured; the rotation waits for the right one.",
  },
  PLATFORM_REJECTED: {
    disposition: "never",
    exitCode: 1,
    meaning: "The platform refused this call and will refuse it again (a status of the 400s other than 401, 403, 429).",
  },
  PLATFORM_UNAUTHORIZED: {
    disposition: "never",
    exitCode: 3,
    meaning: "The platform does not accept the credentials.",
  },
  PLATFORM_FORBIDDEN: {
    disposition: "never",
    exitCode: 3,
    meaning: "The credentials are good but lack a permission or a coverage.",
  },
  PLATFORM_THROTTLED: {
    disposition: "later",
    exitCode: 4,
    meaning: "The quota of the API group is spent; calls go on after the refresh.",
  },
  PLATFORM_UNAVAILABLE: {
    disposition: "retry",
    exitCode: 4,
    meaning: "No usable answer came from the platform (connection, timeout, status of the 500s).",
  },
  PLATFORM_CONTRACT: {
    disposition: "never",
    exitCode: 4,
    meaning: "The platform answered, but not as its interface says; often a wrong address.",
  },
  STORE_UNAVAILABLE: {
    disposition: "retry",
    exitCode: 4,
    meaning: "Redis cannot be reached, is too old, or is configured in a way that could lose data.",
  },
  REQUEST_INVALID: {
    disposition: "never",
    exitCode: 2,
    meaning:
      "A request to the control API makes no sense: a parameter or field that it does not have, or a wrong value.",
  },
  NOT_FOUND: {
    disposition: "never",
    exitCode: 2,
    meaning: "There is no such thing: the message says what is missing.",
  },
  UNAUTHENTICATED: {
    disposition: "never",
    exitCode: 3,
    meaning: "The control API does not know the caller: no token came, or one that is not valid.",
  },
  FORBIDDEN: {
    disposition: "never",
    exitCode: 3,
    meaning: "The control API knows the caller, whose role does not allow this; or the request comes from elsewhere.",
  },
  TOO_LARGE: {
    disposition: "never",
    exitCode: 2,
    meaning: "The body of a request is larger than the control API takes.",
  },
  BODY_UNSUPPORTED: {
    disposition: "never",
    exitCode: 2,
    meaning: "The body of a request has a form that the route does not take; the message says what it takes.",
  },
  REQUEST_TIMEOUT: { disposition: "retry", exitCode: 4, meaning: "The body of a request stopped coming." },
  TOO_MANY_REQUESTS: {
    disposition: "later",
    exitCode: 4,
    meaning:
      "A caller of the control API has asked too often, or from its address came too many wrong credentials; `Retry-After` says when it may again.",
  },
  WORKER_UNREACHABLE: {
    disposition: "retry",
    exitCode: 4,
    meaning: "The worker that a command was to ask (`--server`) cannot be reached, or what answers is none.",
  },
  AUDIT_UNAVAILABLE: {
    disposition: "retry",
    exitCode: 4,
    meaning: "The audit entry of a change could not be written, so the change was not made.",
  },
  PLAN_LIMIT: {
    disposition: "later",
    exitCode: 4,
    meaning: "A caller of the control API has as many plans, or as many bytes of them, as one may have at a worker.",
  },
  OVERLOADED: { disposition: "later", exitCode: 4, meaning: "The worker has more to do than it can answer just now." },
  IDEMPOTENCY_REUSED: {
    disposition: "never",
    exitCode: 2,
    meaning: "The `Idempotency-Key` belongs to another request of this caller: a new request needs a new key.",
  },
  IDEMPOTENCY_BUSY: {
    disposition: "later",
    exitCode: 4,
    meaning: "The first request with this `Idempotency-Key` is still under way.",
  },
  INTERNAL: { disposition: "never", exitCode: 4, meaning: "A fault of simfleet itself; please report it." },
} as const satisfies Record<string, { disposition: Disposition; exitCode: number; meaning: string }>;

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
    super("INTAKE_INVALID", message, { cause: at.cause });
    this.name = "IntakeError";
    this.line = at.line;
    this.column = at.column;
    this.withoutContent = at.withoutContent ?? message;
  }
}

type PlatformCode = Extract<ErrorCode, `PLATFORM_${string}`>;

/** What the platform (or the way to it) did to one call. */
export class PlatformError extends SimfleetError {
  /** The operation's id, `listSims`. */
  readonly operation: string;
  /** HTTP status, where an answer came. */
  readonly status: number | undefined;
  /** The platform's own error code, where its body carried one (interface, section 7). */
  readonly platformCode: string | undefined;
  /**
   * Whether the platform may have carried the call out although no good answer came: a lost answer is an unknown
   * outcome, not a failure.
   */
  readonly mayHaveApplied: boolean;
  /** With PLATFORM_THROTTLED: the bucket that is empty. */
  readonly bucket: string | undefined;
  /** Whether the answer was larger than what is read of one: a list can be asked for in shorter pages. */
  readonly isAnswerTooLarge: boolean;

  constructor(
    code: PlatformCode,
    message: string,
    facts: {
      operation: string;
      status?: number | undefined;
      platformCode?: string | undefined;
      mayHaveApplied?: boolean;
      retryAfterMs?: number | undefined;
      bucket?: string | undefined;
      isAnswerTooLarge?: boolean;
      cause?: unknown;
    },
  ) {
    // With PLATFORM_THROTTLED, and where the platform asks for a pause.
    super(code, message, { cause: facts.cause, retryAfterMs: facts.retryAfterMs });
    this.name = "PlatformError";
    this.operation = facts.operation;
    this.status = facts.status;
    this.platformCode = facts.platformCode;
    this.mayHaveApplied = facts.mayHaveApplied ?? false;
    this.bucket = facts.bucket;
    this.isAnswerTooLarge = facts.isAnswerTooLarge === true;
  }
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
