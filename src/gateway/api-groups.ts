/**
 * Checks the target of a request before anything is done with it, and finds the quota that a call spends by its method
 * and path. The path goes to the platform as received, so nothing in it may mean another place there than here: no dot
 * segments, no encoded slashes, no empty segments. The rules are the operations that simfleet knows, those that the
 * platform definition describes, and the patterns of its `apiGroups`. The most specific rule counts: segment by
 * segment, a name comes before `*`, and `*` before `**`; among equals, a rule for one method comes first. A path
 * without a rule is counted in a group of its own, by its first segment: the platform's headers show what is left.
 */
import { catalogue } from "#api/operations/catalogue.ts";
import { type Quota, quotaOf } from "#api/operations/operation.ts";
import { SimfleetError } from "#core/errors.ts";
import type { DeploymentOperation, DeploymentOperations, PathGroup } from "#fleet/deployment-operation.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";

/** Facts about a call that the gateway uses. */
export interface GatewayOperation {
  /** For the metrics and as the key of its bucket: one name for each quota. */
  readonly id: string;
  readonly quota: Quota;
  /** Whether it renews a token; the gateway responds itself. */
  readonly isRenewal?: true;
  /** First segment of a path that no rule knows, which names the group; only the first time. */
  readonly newGuess?: string;
}

interface Rule extends GatewayOperation {
  /** HTTP method. Absent: every method. */
  readonly method?: string | undefined;
  /** `*` is any segment, and `**` at the end any number of them. */
  readonly segments: readonly string[];
}

export interface Grouping {
  readonly operations: DeploymentOperations;
  readonly simOperations: ReadonlyMap<string, Pick<SimOperation, "method" | "path" | "group">>;
  readonly apiGroups: Readonly<Record<string, string | PathGroup>>;
}

/** @returns the operation of a call, by its method and the decoded segments of its path */
export function operationFinder({ operations, simOperations, apiGroups }: Grouping) {
  const rules: Rule[] = [
    ...catalogue.map(({ id, method, path, quota }) => ({ id, method, quota, segments: toSegments(path) })),
    renewal("/v1/operators/{operatorId}/token"),
    ...Object.entries(operations).flatMap(([id, described]) =>
      described === undefined ? [] : ofDescription(id, described),
    ),
    ...[...simOperations.values()].map(({ method, path, group }) => ofQuota({ group }, path, method)),
    ...Object.entries(apiGroups).map(([pattern, group]) => {
      const [path = "", method] = pattern.split(" ", 2).toReversed();
      return ofQuota(typeof group === "string" ? { group } : quotaOf(group, path), path, method);
    }),
  ];
  // The most specific ones first.
  rules.sort((one, other) => specificityOf(other).localeCompare(specificityOf(one)));
  const guesses = new Set<string>();
  return (method: string, segments: readonly string[]): GatewayOperation => {
    const wanted = method === "HEAD" ? "GET" : method;
    const known = rules.find((rule) => (rule.method ?? wanted) === wanted && matches(rule.segments, segments));
    if (known !== undefined) return known;
    const [first = "", second = ""] = segments;
    const name = first === "v1" ? second : first;
    const guess = /^[A-Za-z0-9_-]{1,40}$/.test(name) ? `/${name}` : "/other";
    const group = guesses.has(guess) || guesses.size < maxGuesses ? guess : "/other";
    const operation = { id: `gateway.${group}`, quota: { group } };
    if (guesses.has(group)) return operation;
    guesses.add(group);
    return { ...operation, newGuess: group };
  };
}

/** Callers choose the paths: further first segments share one group. */
const maxGuesses = 100;

function renewal(path: string): Rule {
  return { ...ofQuota({ group: "Operator" }, path, "POST"), isRenewal: true };
}

function ofDescription(id: string, described: DeploymentOperation): Rule[] {
  const { method, path, group, quota, userPath, userGroup = group } = described;
  if (id === "renewToken") return [renewal(path)];
  const own = ofQuota(quotaOf({ group, quota }, id), path, method);
  if (userPath === undefined) return [own];
  return [own, ofQuota(quotaOf({ group: userGroup, quota }, `${id}OfUser`), userPath, method)];
}

function ofQuota(quota: Quota, path: string, method?: string): Rule {
  const id = `gateway.${"group" in quota ? quota.group : quota.perIp}`;
  return { id, quota, segments: toSegments(path), method };
}

function toSegments(path: string): string[] {
  return path
    .slice(1)
    .split("/")
    .map((segment) => (segment.startsWith("{") ? "*" : segment));
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === "**";
  const named = isOpen ? pattern.slice(0, -1) : pattern;
  if (isOpen ? segments.length < named.length : segments.length !== named.length) return false;
  return named.every((name, i) => name === "*" || name === segments[i]);
}

/** A text that is greater, the more specific the rule is; a path that ends is more so than one that may continue. */
function specificityOf({ segments, method }: Rule): string {
  const ranks = segments.map((segment) => (segment === "**" ? "0" : segment === "*" ? "1" : "2"));
  return `${ranks.join("").padEnd(100, "2")}${method === undefined ? 0 : 1}`;
}

const maxCharacters = 8_192;
const anywhere = "https://platform.invalid";

/** @param target path and query. @returns the segments of the path, decoded. @throws SimfleetError REQUEST_INVALID */
export function readTarget(target: string): readonly string[] {
  if (!target.startsWith("/"))
    throw invalid("must be a path: send the request to the gateway itself, not as to a proxy");
  if (target.length > maxCharacters) throw invalid(`is longer than ${maxCharacters} characters`);
  if (!/^[\x21-\x7e]+$/.test(target) || target.includes("#"))
    throw invalid("has characters that must be percent-encoded");
  const [path = ""] = target.split("?", 1);
  // A second decoder behind the first must not find anything either.
  if (/[;\\]|%(?:2[ef5]|5c|00)/i.test(path)) {
    throw invalid("has a character that changes the path: `;`, `\\`, or an encoded `.`, `/`, `\\` or `%`");
  }
  if (URL.parse(anywhere + path)?.pathname !== path)
    throw invalid("has `.` or `..`, or characters that are not allowed in a path");
  const segments = path.slice(1).split("/").map(decoded);
  if (segments.at(-1) === "") segments.pop();
  if (segments.includes("")) throw invalid("has an empty segment");
  return segments;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalid("is not percent-encoded UTF-8");
  }
}

function invalid(fault: string): SimfleetError {
  return new SimfleetError("REQUEST_INVALID", `The path of the request ${fault}; nothing was sent`);
}
