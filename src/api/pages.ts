/**
 * Iterates over a list page by page (interface, section 4, pagination rules). Only the key of the next page is taken
 * from a response, never an address: a hostile `link` cannot redirect a call. Pages may be short or empty while more
 * follow. The list ends when no key is returned; a repeated key ends it with an error instead of a loop.
 */
import { PlatformError } from "#core/errors.ts";
import { type AnswerHeaders, headerOf } from "./http/headers.ts";

export interface Page<T> {
  readonly items: T;
  /** The start of the next page; undefined on the last one. A caller that saves it can resume there. */
  readonly nextKey: string | undefined;
}

/** A longer key would not fit a request line everywhere. */
const keyCap = 4_096;

/**
 * Yields the pages of a list, fetching each on demand.
 * @param startKey the key of the first page to fetch; undefined for the start
 * @throws PlatformError PLATFORM_RESPONSE_INVALID on a repeated or oversized key; whatever `fetchPage` threw
 */
export async function* readPages<T>(options: {
  operation: string;
  startKey: string | undefined;
  /** The brand's next-key header in lower case. */
  nextKeyHeader: string;
  fetchPage: (key: string | undefined) => Promise<{ value: T; headers: AnswerHeaders }>;
}): AsyncGenerator<Page<T>, void, undefined> {
  const seen = new Set<string>();
  let key = options.startKey;
  while (true) {
    if (key !== undefined) seen.add(key);
    const { value, headers } = await options.fetchPage(key);
    const [nextKey, otherKey] = readNextKeys(headers, options.nextKeyHeader);
    const fault = nextKey === undefined ? undefined : findFault(nextKey, { otherKey, seen });
    if (fault !== undefined) {
      throw new PlatformError("PLATFORM_RESPONSE_INVALID", `${options.operation}: the key of the next page ${fault}.`, {
        operation: options.operation,
      });
    }
    yield { items: value, nextKey };
    if (nextKey === undefined) return;
    key = nextKey;
  }
}

/** Following either of two keys could leave out SIMs. */
function findFault(key: string, { otherKey = key, seen }: { otherKey: string | undefined; seen: ReadonlySet<string> }) {
  if (key.length > keyCap) return "is too long";
  if (otherKey !== key) return "is another one in the header link";
  return seen.has(key) ? "was given before, so the list would never end" : undefined;
}

/** The next page's key: from its own header, and from the query in the `link` header; none on the last page. */
export function readNextKeys(headers: AnswerHeaders, nextKeyHeader: string): readonly string[] {
  const own = headerOf(headers, nextKeyHeader)?.trim();
  const link = headerOf(headers, "link");
  const linked = link === undefined ? undefined : keyInLink(link.slice(0, 4 * keyCap));
  return [own, linked].filter((key) => key !== undefined && key !== "") as string[];
}

/** `<path?last_evaluated_key=KEY>; rel=next`, alone or among other links. */
function keyInLink(link: string): string | undefined {
  for (const part of link.split(/,(?=\s*<)/)) {
    const end = part.indexOf(">");
    if (end < 0 || !/;\s*rel\s*=\s*"?next"?\s*(?:;|$)/i.test(part.slice(end))) continue;
    const key = /[?&]last_evaluated_key=([^&>#]+)/.exec(part.slice(0, end))?.[1];
    if (key !== undefined) return decode(key);
  }
  return undefined;
}

/** Keeps `+` literal: base64 keys contain it more often than keys contain a space. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
