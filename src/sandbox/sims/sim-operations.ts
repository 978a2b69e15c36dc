/**
 * The operations on SIMs that list or read them, and those that the interface shows (section 4), in both variants. The
 * actions on one SIM are in sim-actions.ts.
 */
import type { Wording } from "#fleet/sim/sim.ts";
import { answerItems, answerPage } from "../http/paging.ts";
import { type Call, operationsOf, type Result } from "../operation.ts";
import { Refusal } from "../refusals.ts";
import { listedPlace, simActions } from "./sim-actions.ts";
import type { Sims } from "./sims.ts";

/** Longest page of a status history. */
const longestHistoryPage = 100;

export const shownSimOperations = operationsOf("Sim", {
  listSims: ["GET v1/sims", (call) => list(call, "sims")],
  updateSimSpeedClass: ["POST v1/sims/*/update_speed_class", (call) => updateSpeedClass(call, "sims")],
  listSubscribers: ["GET v1/subscribers", (call) => list(call, "subscribers")],
  updateSubscriberSpeedClass: [
    "POST v1/subscribers/*/update_speed_class",
    (call) => updateSpeedClass(call, "subscribers"),
  ],
});

/** The operations on one SIM that the interface does not show. */
export const namedSimOperations = [
  ...simActions,
  ...operationsOf("Sim", {
    getSim: ["GET v1/sims/*", (call) => ({ status: 200, text: call.state.sims.textAt(listedPlace(call, "sims")) })],
    listSimStatusHistory: [
      "GET v1/sims/*/statuses/history",
      (call) => {
        const place = listedPlace(call, "sims");
        const { fromMs, toMs, isAscending } = periodOf(call);
        const entries = call.state.log.statusesAt(place).filter(({ time }) => time >= fromMs && time <= toMs);
        return answerItems(call, isAscending ? entries : entries.toReversed(), longestHistoryPage);
      },
    ],
    listSimSessionEvents: [
      "GET v1/sims/*/events/sessions",
      (call) => answerItems(call, call.state.log.sessionsAt(listedPlace(call, "sims")).toReversed()),
    ],
  }),
];

function list(call: Call, wording: Wording): Result {
  const { sims } = call.state;
  return answerPage(call, {
    places: sims.places,
    placeAfter: (from, items) => sims.placeAfter(from, items),
    show: (place) => (sims.isListedAt(place) ? textOf(sims, place, wording) : undefined),
  });
}

function updateSpeedClass(call: Call, wording: Wording): Result {
  const { options, state, body } = call;
  const { speedClass } = body();
  const place = listedPlace(call, wording);
  if (state.sims.isTerminatedAt(place)) throw new Refusal("simTerminated");
  if (typeof speedClass !== "string" || speedClass === "") throw new Refusal("speedClassMissing");
  if (!state.sims.setSpeedClass(place, speedClass)) throw new Refusal("speedClassUnknown");
  // Only then is there an operation that lists it.
  if (options.operations === "all") state.log.noteStatus(place);
  return { status: 200, text: textOf(state.sims, place, wording) };
}

function textOf(sims: Sims, place: number, wording: Wording): string {
  return wording === "sims" ? sims.textAt(place) : sims.subscriberTextAt(place);
}

/** The period and order of a history; newest first by default. @throws Refusal */
function periodOf({ queryText }: Call): { fromMs: number; toMs: number; isAscending: boolean } {
  const query = new URLSearchParams(queryText);
  const numberOf = (name: string, otherwise: number): number => {
    const text = query.get(name);
    if (text === null) return otherwise;
    if (!/^[0-9]{1,15}$/.test(text)) throw new Refusal("historyQueryInvalid");
    return Number(text);
  };
  const sort = query.get("sort") ?? "desc";
  const limit = numberOf("limit", longestHistoryPage);
  if ((sort !== "asc" && sort !== "desc") || limit < 1 || limit > longestHistoryPage) {
    throw new Refusal("historyQueryInvalid");
  }
  return { fromMs: numberOf("from", 0), toMs: numberOf("to", Infinity), isAscending: sort === "asc" };
}
