/**
 * One kind of call to the platform as data: method, path, quota, schemas (interface, section 4). Nothing here sends
 * requests. Identifiers come from files, so the final path is checked twice: against an allow-list before it is built,
 * and as a parsed URL after, since `..` and similar values survive every encoding function. Values of letters, digits,
 * `_` and `-` alone, as nearly all are, cannot leave their segment and are not parsed.
 */
import { hash } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "#core/errors.ts";
import type { PathGroup } from "#fleet/deployment-operation.ts";
import type { Address } from "../http/address.ts";

/**
 * The quota that a call spends: that of an API group of the account, or of the caller's IP address (section 8, rule 3).
 */
export type Quota = { readonly group: string } | { readonly perIp: string };

/**
 * The quota of a call that a platform definition describes.
 * @param name what it is called, within its group: an operation or a path
 */
export function quotaOf({ group, quota }: PathGroup, name: string): Quota {
  if (quota?.perIp !== true) return { group };
  return { perIp: `${group}-${name.replaceAll(/[^A-Za-z0-9]+/g, "_").replaceAll(/^_|_$/g, "")}` };
}

/** A variable segment of a path. */
export interface PathParameter<I> {
  /** Name of the placeholder, without braces. */
  readonly name: string;
  isAllowed(text: string): boolean;
  of(input: I): string;
  /** The value is percent-encoded; without it, only values that need no encoding are allowed. */
  readonly isEncoded?: true;
}

/** The part of a schema that parses an answer. */
export type AnswerSchema<O> = Pick<z.ZodType<O>, "safeParse">;

export interface Operation<I, O> {
  /** Name in the interface: `listSims`. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Each parameter is a whole segment in braces: `/v1/sims/{simId}/update_speed_class`. */
  readonly path: string;
  /** One for each name in braces. */
  readonly parameters?: readonly PathParameter<I>[];
  readonly quota: Quota;
  /** Whether the call carries the key and token pair (interface, section 5). */
  readonly authenticated: boolean;
  /** Whether a call whose response was lost can be retried without harm. */
  readonly replay: "safe" | "unsafe";
  readonly successStatuses: readonly number[];
  /** Query parameters; undefined ones are omitted. */
  query?(input: I): Readonly<Record<string, string | undefined>>;
  /** The value of the JSON body. */
  body?(input: I): unknown;
  /** `status` if the body of a success is ignored; it is then parsed as undefined. */
  readonly answer?: "status";
  /** Parses the body of a success; keeps fields that the interface does not show. */
  readonly output: AnswerSchema<O>;
}

/** The path and body of one call. */
export interface Target {
  /** Path and query. */
  readonly path: string;
  readonly body: string | undefined;
}

/**
 * Builds path, query and body of a call.
 * @throws PlatformError PLATFORM_REJECTED if an identifier would change the path beyond its template
 */
export function targetOf<I, O>(operation: Operation<I, O>, input: I): Target {
  const bare = fillPath(operation, input);
  const query = operation.query === undefined ? "" : formatQuery(operation.query(input));
  const body = operation.body === undefined ? undefined : JSON.stringify(operation.body(input));
  return { path: query === "" ? bare : `${bare}?${query}`, body };
}

/**
 * The bucket that a call spends from: `<owner>.<group>`, or `ip.<egress>.<mark>` for operations that the platform
 * limits per caller address (interface, section 8, rule 3).
 * @param owner who has the quota: an operator (`quotaOwner`), or a profile
 * @param egress name of the address that this process's calls come from
 */
export function bucketOf(operation: Pick<Operation<never, unknown>, "quota">, owner: string, egress = "here"): string {
  const { quota } = operation;
  return "group" in quota ? `${owner}.${quota.group}` : `ip.${egress}.${quota.perIp}`;
}

/**
 * An operator at one address of the platform, as the owner of quotas: `<operator>@<host>`. An ID that is long or has
 * other characters than letters, digits, `_` and `-` is shortened and marked with its digest.
 */
export function quotaOwner(operatorId: string, { host, prefix }: Pick<Address, "host" | "prefix">): string {
  const isPlain = /^[\w-]{1,64}$/.test(operatorId);
  const digest = isPlain ? "" : `~${hash("sha256", operatorId).slice(0, 16)}`;
  return `${isPlain ? operatorId : operatorId.slice(0, 40).replaceAll(/[^\w-]/g, "_")}${digest}@${host}${prefix}`;
}

function fillPath<I, O>(operation: Operation<I, O>, input: I): string {
  const { parameters = [], path: template } = operation;
  if (parameters.length === 0) return template;
  let isPlain = true;
  // Segment by segment, so that a value is never mistaken for a placeholder.
  const segments = template.split("/").map((segment) => {
    const parameter = isMark(segment) ? parameters.find(({ name }) => segment === `{${name}}`) : undefined;
    if (parameter === undefined) return segment;
    const value = parameter.of(input);
    if (!parameter.isAllowed(value)) throw outside(operation, [parameter], input);
    isPlain &&= /^[\w-]+$/.test(value);
    return parameter.isEncoded ? encodeURIComponent(value) : value;
  });
  const path = segments.join("/");
  if (!isPlain && !staysIn(template, path, parameters)) throw outside(operation, parameters, input);
  return path;
}

function outside<I>(
  { id }: Pick<Operation<I, unknown>, "id">,
  parameters: readonly PathParameter<I>[],
  input: I,
): PlatformError {
  const faults = parameters.map((one) => `${JSON.stringify(one.of(input).slice(0, 80))} cannot be a ${one.name}`);
  const message = `${id}: ${faults.join(", or ")}; nothing was sent. Correct the ID.`;
  return new PlatformError("PLATFORM_REJECTED", message, { operation: id });
}

const anywhere = "https://platform.invalid";

/** Whether the final path, parsed as a URL, is exactly its template with the parameters filled in. */
function staysIn(template: string, path: string, parameters: readonly PathParameter<never>[]): boolean {
  const url = URL.parse(anywhere + path);
  if (url === null || url.origin !== anywhere || url.pathname !== path || url.search !== "" || url.hash !== "") {
    return false;
  }
  const encoded = new Set(parameters.filter(({ isEncoded }) => isEncoded).map(({ name }) => `{${name}}`));
  const segments = path.split("/");
  const wanted = template.split("/");
  return (
    segments.length === wanted.length &&
    wanted.every((name, i) => isMark(name) || segments[i] === name) &&
    wanted.every((name, i) =>
      encoded.has(name) ? !/%(?:2[ef5]|5c)/i.test(segments[i] ?? "") : !/[%{}]/.test(segments[i] ?? ""),
    )
  );
}

function isMark(segment: string): boolean {
  return segment.startsWith("{");
}

function formatQuery(parameters: Readonly<Record<string, string | undefined>>): string {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) pairs.push(`${name}=${encodeURIComponent(value.toWellFormed())}`);
  }
  return pairs.join("&");
}

// Timestamps that the platform sends in epoch seconds; simfleet uses epoch milliseconds. AuthKeys and Credential Sets
// use seconds; SIMs and groups use milliseconds and are not converted.

/** The last second of the year 9999: a larger number is not in seconds. */
const latestSeconds = 253_402_300_799;

/** A timestamp that a record may lack. */
export const epochSeconds = z
  .number()
  .min(0)
  .max(latestSeconds)
  .nullish()
  .transform((seconds) => (seconds === null || seconds === undefined ? undefined : seconds * 1_000));
