/**
 * Splits lists into pages (interface, section 4). A cursor encodes the position of the next item and is validated when
 * it comes back, so that a client that corrupts one gets an error. Which pages are short or empty depends only on the
 * seed and the position in the list: the same call returns the same page again. The cursor after an empty page is
 * marked, so that a client never gets two empty pages in a row for one position and always makes progress.
 */
import type { Call, Result } from "./operation.ts";
import { Refusal } from "./refusals.ts";
import { seededBits, seededShare } from "./seeded.ts";

/** A list whose items have fixed positions; a position may become empty. */
interface PagedList {
  /** Length of the list, including empty positions. */
  readonly places: number;
  /** The position after the next `items` items from a position; `places` if none is left. */
  placeAfter(from: number, items: number): number;
  /** The JSON of the item at a position, or undefined if it no longer exists. */
  show(place: number): string | undefined;
}

type Place = ReturnType<typeof parseCursor>;

/** A higher `limit` is reduced to it. */
const maxPageSize = 1_000;

const hostileTail = "/+=&%2F ?#<>;,\"'";

/** The page that the query of a call requests; empty positions are skipped. @throws Refusal */
export function answerPage(call: Call, list: PagedList): Result {
  const { pageSize, seed, shortPages, emptyPages } = call.options;
  const query = new URLSearchParams(call.queryText);
  const asked = query.get("limit");
  if (asked !== null && !/^[1-9][0-9]{0,8}$/.test(asked)) throw new Refusal("limitInvalid");
  const size = Math.min(asked === null ? pageSize : Number(asked), maxPageSize);
  const cursor = query.get("last_evaluated_key");
  const given = cursor === null ? undefined : parseCursor(call, cursor);
  const from = given?.index ?? 0;
  if (from > list.places) throw new Refusal("cursorUnknown");
  const isEmpty = given?.isAfterEmptyPage !== true && seededShare(seed ^ 0x0e, from) < emptyPages;
  const isShort = size > 1 && seededShare(seed ^ 0x05, from) < shortPages;
  const length = isShort ? 1 + (seededBits(seed ^ 0x1e, from) % (size - 1)) : size;
  const to = isEmpty ? from : list.placeAfter(from, length);
  const next = isEmpty || to < list.places ? { index: to, isAfterEmptyPage: isEmpty } : undefined;
  let items = "";
  for (let place = from; place < to; place += 1) {
    const text = list.show(place);
    if (text !== undefined) items += items === "" ? text : `,${text}`;
  }
  return { status: 200, text: `[${items}]`, headers: next === undefined ? [] : headersFor(call, next) };
}

/** Responds with a page of a list that is in memory. */
export function answerItems(call: Call, items: readonly unknown[]): Result {
  return answerPage(call, {
    places: items.length,
    placeAfter: (from, count) => Math.min(from + count, items.length),
    show: (place) => JSON.stringify(items[place]),
  });
}

/** The headers that name the next page. */
function headersFor(call: Call, next: Place): string[] {
  const { paging } = call.options;
  const cursor = encodeCursor(call, next);
  const link = ["link", `<${call.path}?last_evaluated_key=${encodeURIComponent(cursor)}>; rel=next`];
  return [...(paging === "key" ? [] : link), ...(paging === "link" ? [] : [call.names.nextKey, cursor])];
}

function encodeCursor({ options, path }: Call, { index, isAfterEmptyPage }: Place): string {
  const place = `${index.toString(36)}${isAfterEmptyPage ? "e" : "n"}`;
  const key = Buffer.from(`${path}|${place}|${options.seed}`).toString("base64url");
  return options.hostileCursors ? key + hostileTail : key;
}

function parseCursor(call: Call, cursor: string) {
  const text = Buffer.from(cursor.split("/", 1)[0] ?? "", "base64url").toString("latin1");
  const [, index, mark] = /\|([0-9a-z]+)([en])\|/.exec(text) ?? [];
  const place = { index: Number.parseInt(index ?? "", 36), isAfterEmptyPage: mark === "e" };
  if (Number.isNaN(place.index) || encodeCursor(call, place) !== cursor) throw new Refusal("cursorUnknown");
  return place;
}
