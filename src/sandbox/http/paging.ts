/**
 * Splits lists into pages (interface, section 4). A cursor encodes the position of the next item and is validated when
 * it comes back, so that a client that corrupts one gets an error. Which pages are short or empty depends only on the
 * seed and the position in the list: the same call returns the same page again. The cursor after an empty page is
 * marked, so that a client never gets two empty pages in a row for one position and always makes progress.
 */
import type { SandboxOptions } from "../options.ts";
import { Refusal } from "../refusals.ts";
import { seededBits, seededShare } from "../seeded.ts";

/** A list whose items have fixed positions; a position may become empty. */
export interface PagedList {
  readonly path: string;
  /** Length of the list, including empty positions. */
  readonly places: number;
  /** The position after the next `items` items from a position; `places` if none is left. */
  placeAfter(from: number, items: number): number;
}

export interface Page {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** Absent on the last page. */
  readonly cursor: string | undefined;
}

interface Place {
  readonly index: number;
  readonly isAfterEmptyPage: boolean;
}

const hostileTail = "/+=&%2F ?#<>;,\"'";

/** The page of a list that `query` requests; empty positions are skipped. @throws Refusal */
export function cutPage(options: SandboxOptions, list: PagedList, query: URLSearchParams): Page {
  const asked = query.get("limit");
  if (asked !== null && !/^[1-9][0-9]{0,8}$/.test(asked)) throw new Refusal("limitInvalid");
  const size = Math.min(asked === null ? options.pageSize : Number(asked), options.maxPageSize);
  const cursor = query.get("last_evaluated_key");
  const place = cursor === null ? { index: 0, isAfterEmptyPage: false } : placeOf(options, list.path, cursor);
  const from = place.index;
  if (from > list.places) throw new Refusal("cursorUnknown");
  const isEmpty = !place.isAfterEmptyPage && seededShare(options.seed ^ 0x0e, from) < options.emptyPages;
  if (isEmpty)
    return {
      from,
      to: from,
      cursor: cursorOf(options, list.path, { index: from, isAfterEmptyPage: true }),
    };
  const isShort = size > 1 && seededShare(options.seed ^ 0x05, from) < options.shortPages;
  const length = isShort ? 1 + (seededBits(options.seed ^ 0x1e, from) % (size - 1)) : size;
  const to = list.placeAfter(from, length);
  const isLast = to === list.places;
  return {
    from,
    to,
    cursor: isLast ? undefined : cursorOf(options, list.path, { index: to, isAfterEmptyPage: false }),
  };
}

/** The headers that contain the next page, as a raw header list. */
export function pageHeaders(
  options: SandboxOptions,
  facts: { path: string; cursor: string; keyHeader: string },
): string[] {
  const headers: string[] = [];
  if (options.paging !== "key") {
    headers.push("link", `<${facts.path}?last_evaluated_key=${encodeURIComponent(facts.cursor)}>; rel=next`);
  }
  if (options.paging !== "link") headers.push(facts.keyHeader, facts.cursor);
  return headers;
}

function cursorOf(options: SandboxOptions, path: string, { index, isAfterEmptyPage }: Place): string {
  const place = `${index.toString(36)}${isAfterEmptyPage ? "e" : "n"}`;
  const key = Buffer.from(`${path}|${place}|${options.seed}`).toString("base64url");
  return options.hostileCursors ? key + hostileTail : key;
}

function placeOf(options: SandboxOptions, path: string, cursor: string): Place {
  const text = Buffer.from(cursor.split("/", 1)[0] ?? "", "base64url").toString("latin1");
  const [, index, mark] = /\|([0-9a-z]+)([en])\|/.exec(text) ?? [];
  const place = { index: Number.parseInt(index ?? "", 36), isAfterEmptyPage: mark === "e" };
  if (Number.isNaN(place.index) || cursorOf(options, path, place) !== cursor) throw new Refusal("cursorUnknown");
  return place;
}
