/** Zod schemas that the routes of all features share: pages, times, flags, and the problem of durable work. */
import { z } from "zod";
import { getRoute } from "./route.ts";

/** Message for an invalid value, with our words where the schema has none. */
export function issueText(issue: z.core.$ZodIssue): string {
  if (!/^(?:Too (?:big|small)|Invalid|Unrecognized)\b/.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "too_big":
      return `must ${sizeText(issue.origin)} at most ${issue.maximum}${unitText(issue.origin)}`;
    case "too_small":
      if (unitText(issue.origin) !== "" && issue.minimum === 1) return "must not be empty";
      return `must ${sizeText(issue.origin)} at least ${issue.minimum}${unitText(issue.origin)}`;
    case "invalid_type":
      return issue.expected === "undefined" ? "must be left out" : `must be ${kindText(issue.expected)}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.join(", ")}`;
    case "unrecognized_keys":
      return `has no ${issue.keys.join(", ")}`;
    case "invalid_format":
      return issue.format === "datetime"
        ? "must be a time such as 2026-11-20T08:00:00Z"
        : "has not the form that it must have";
    default:
      return "is not valid";
  }
}

const sizeText = (origin: string): string => (unitText(origin) === "" ? "be" : "have");
const unitText = (origin: string): string => (origin === "string" ? " characters" : origin === "array" ? " items" : "");

function kindText(expected: string): string {
  const kinds: Readonly<Record<string, string>> = {
    string: "a text",
    number: "a number",
    int: "a whole number",
    boolean: "true or false",
    array: "a list",
    object: "an object",
  };
  return kinds[expected] ?? expected;
}

/** A list that is only read. */
export function list<T>(item: z.ZodType<T>): z.ZodType<readonly T[]> {
  return z.array(item);
}

export function pageOf<const Name extends string, T>(name: Name, item: z.ZodType<T>) {
  return z.object({ [name]: list(item), nextCursor: z.string().nullable() } as {
    [K in Name]: z.ZodType<readonly T[]>;
  } & { nextCursor: z.ZodNullable<z.ZodString> });
}

/** Declares the route that lists all there are of a noun at once: `GET /webhooks`. */
export function listRoute<const Name extends string, T>(name: Name, item: z.ZodType<T>, summary: string) {
  return getRoute({ path: `/${name}`, summary, answer: pageOf(name, item) });
}

type NullOr<Name, Value> = undefined extends Value ? Name : null extends Value ? Name : never;
type Recorded<Name, Value> = Name extends `${string}At` ? number : NonNullable<Value>;
type RecordedName<Name> = Name extends `${infer Start}At` ? `${Start}AtMs` : Name;
/** A document as it is recorded: times in ms, and nothing where the document has null. */
export type RecordOf<D, Nothing = undefined> = {
  readonly [N in keyof D as RecordedName<Exclude<N, NullOr<N, D[N]>>>]: Recorded<N, D[N]>;
} & { readonly [N in keyof D as RecordedName<NullOr<N, D[N]>>]?: Recorded<N, D[N]> | Nothing };

/** The document of a record: its `startedAt` comes from `startedAtMs`, and it has null for what the record lacks. */
export function reportOf<S extends z.ZodObject>(
  { shape }: S,
  record: RecordOf<z.output<S>, null | undefined>,
): z.output<S> {
  const of = record as Readonly<Record<string, unknown>>;
  const fields = Object.entries(shape).flatMap(([field, schema]) => {
    const atMs = of[`${field}Ms`];
    const value = field.endsWith("At") && typeof atMs === "number" ? new Date(atMs).toISOString() : of[field];
    return value === undefined && schema instanceof z.ZodOptional ? [] : [[field, value ?? null]];
  });
  return Object.fromEntries(fields) as z.output<S>;
}

/** ISO 8601, UTC. */
export const instant = z.string().meta({ format: "date-time" });
export const count = z.number();

const name = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be a name of letters, digits, - and _");

/** Why durable work makes no progress; absent while it does. */
export const currentProblem = z
  .object({
    message: z.string(),
    since: instant,
    attempts: count.describe("failed attempts since then"),
    nextAttemptAt: instant.nullable(),
  })
  .optional();

export type ProblemReport = NonNullable<z.infer<typeof currentProblem>>;

/** The account that a request is about; by default the configuration's. */
export const ofProfile = { profile: name.optional().meta({ example: "default" }) } as const;

export const ofPage = {
  limit: z.coerce.number().int().min(1).max(1_000).default(50),
  cursor: z.string().min(1).max(200).optional(),
} as const;

/** The `nextCursor` of a list that is read from a Redis stream: the id of an entry. */
export const entryCursor = z
  .string()
  .regex(/^\d{1,15}-\d{1,10}$/, "is not a valid cursor: use the nextCursor of the previous page")
  .optional();

/** An instant or an age; `parseInstant` reads it. */
export const since = z
  .string()
  .refine((text) => /^\d{1,6}[mhd]$/.test(text) || z.iso.datetime({ offset: true }).safeParse(text).success, {
    error: "must be an age such as 90m, 24h or 7d, or a time such as 2026-11-20T08:00:00Z",
  })
  .optional()
  .describe("not older than this: an instant with its offset, or an age such as 90m, 24h or 7d");

export const until = z.iso.datetime({ offset: true }).optional().describe("older than this instant");

/** The id of an entry of a stream that only older entries than `until` come after. */
export function cursorBefore(given: string | undefined): string | undefined {
  return given === undefined ? undefined : `${Math.max(0, Date.parse(given))}-0`;
}

/** `true` or `false`, in a query. */
export const flag = z.enum(["true", "false"]).optional();

/** A parameter that may be given once or several times. */
export function several<T extends z.ZodType>(one: T) {
  return z.union([one, z.array(one).max(100)]).optional();
}

export function asList<T>(given: T | readonly T[] | undefined): readonly T[] | undefined {
  return given === undefined ? undefined : ([given].flat() as readonly T[]);
}

/** No parameter at all. */
export const nothing = z.strictObject({});
/** No body, or an empty object. */
export const noBody = z.strictObject({}).nullish();

export const id = z.string().min(1).max(200);
