/**
 * Checks the target of a request before anything is done with it. The path goes to the platform as it was received, so
 * nothing in it may mean another place there than here: no dot segments, no encoded slashes, no empty segments.
 */
import { SimfleetError } from "#core/errors.ts";

export interface RequestTarget {
  /** Path and query as received. */
  readonly path: string;
  /** The segments of the path, decoded. */
  readonly segments: readonly string[];
}

const maxCharacters = 8_192;
const anywhere = "https://platform.invalid";

/** @throws SimfleetError REQUEST_INVALID */
export function readTarget(target: string): RequestTarget {
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
  return { path: target, segments };
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
