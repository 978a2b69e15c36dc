/**
 * Parses the fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10 and -11): the policies that
 * apply to a request, and what is left of each. As the draft asks, a malformed field is ignored, and so is an item that
 * lacks what its use needs. Numbers are limited, so that no response can stop a program for more than a month.
 */
import { type BareItem, type List, parseList } from "structured-headers";
import type { AnswerHeaders } from "./response-headers.ts";

/** One quota policy, as one response shows it. */
export interface PolicyReading {
  readonly name: string;
  /** The partition key (`pk`) in base64; empty without one. */
  readonly partitionKey: string;
  /** Calls allowed in each window (`q`). */
  readonly limit: number | undefined;
  /** Length of the window (`w`). */
  readonly periodMs: number | undefined;
  /** Calls left (`r`). */
  readonly remaining: number | undefined;
  /** Whole seconds until more calls are allowed (`t`). */
  readonly secondsBeforeRefresh: number | undefined;
}

/** A month; a longer window is of no use to a program that waits for its end. */
const longestSeconds = 31 * 24 * 3_600;

type Parameters = ReadonlyMap<string, BareItem>;

/** @returns the policies that count requests, with what is left of them; none if the response has no valid field */
export function readRateLimitFields(headers: AnswerHeaders): PolicyReading[] {
  const found = new Map<string, PolicyReading>();
  const otherUnits = new Set<string>();
  for (const [name, parameters] of itemsOf(headers["ratelimit-policy"])) {
    if ((parameters.get("qu") ?? "requests") !== "requests") {
      otherUnits.add(name);
      continue;
    }
    const policy = policyOf(name, parameters);
    if (policy !== undefined) found.set(`${name} ${policy.partitionKey}`, policy);
  }
  for (const [name, parameters] of itemsOf(headers["ratelimit"])) {
    const remaining = wholeNumber(parameters.get("r"));
    if (remaining === undefined || otherUnits.has(name)) continue;
    const partitionKey = keyOf(parameters.get("pk"));
    // A policy may be described once for all partitions.
    const policy = found.get(`${name} ${partitionKey}`) ?? found.get(`${name} `);
    found.delete(`${name} `);
    found.set(`${name} ${partitionKey}`, {
      name,
      partitionKey,
      limit: policy?.limit,
      periodMs: policy?.periodMs,
      remaining: Math.min(remaining, policy?.limit ?? remaining),
      secondsBeforeRefresh: secondsOf(parameters.get("t")),
    });
  }
  return [...found.values()];
}

/** Undefined without a valid limit. */
function policyOf(name: string, parameters: Parameters): PolicyReading | undefined {
  const limit = wholeNumber(parameters.get("q"));
  if (!limit) return undefined;
  const seconds = secondsOf(parameters.get("w"));
  return {
    name,
    partitionKey: keyOf(parameters.get("pk")),
    limit,
    periodMs: seconds ? seconds * 1_000 : undefined,
    remaining: undefined,
    secondsBeforeRefresh: undefined,
  };
}

/** The items of a list that are strings, as names of policies are. */
function itemsOf(field: string | string[] | undefined): (readonly [string, Parameters])[] {
  const text = typeof field === "string" ? field : field?.join(", ");
  if (text === undefined) return [];
  return listOf(text).flatMap(([item, parameters]) => (typeof item === "string" ? [[item, parameters] as const] : []));
}

function listOf(text: string): List {
  try {
    return parseList(text);
  } catch {
    return [];
  }
}

function secondsOf(value: BareItem | undefined): number | undefined {
  const seconds = wholeNumber(value);
  return seconds === undefined ? undefined : Math.min(seconds, longestSeconds);
}

function wholeNumber(value: BareItem | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function keyOf(value: BareItem | undefined): string {
  return value instanceof ArrayBuffer ? Buffer.from(value).toString("base64") : "";
}
