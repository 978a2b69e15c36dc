/** The reads of one SIM: its record, the statuses that it had, and its sessions. */
import { Refusal } from "../refusals.ts";
import { answerPage, type Call, type Result } from "../operation.ts";
import { listedSim, type SimOperation } from "./sim-action.ts";

/** Longest page of a status history. */
const longestHistoryPage = 100;

const shared = { method: "GET", group: "Sim", needsPair: true } as const;

export const simReads: readonly SimOperation[] = [
  {
    ...shared,
    name: "getSim",
    path: "v1/sims/*",
    statuses: [200, 404],
    handle: (call) => ({ status: 200, text: listedSim(call, placeOf(call)).text }),
  },
  {
    ...shared,
    name: "listSimStatusHistory",
    path: "v1/sims/*/statuses/history",
    statuses: [200, 400, 404],
    handle: (call) => {
      const { place } = listedSim(call, placeOf(call));
      const { fromMs, toMs, isAscending } = periodOf(call);
      const entries = call.state.log.statusesAt(place).filter(({ time }) => time >= fromMs && time <= toMs);
      const { options } = call;
      const pageSize = Math.min(options.pageSize, longestHistoryPage);
      return listOf(
        { ...call, options: { ...options, pageSize, maxPageSize: longestHistoryPage } },
        isAscending ? entries : entries.toReversed(),
        "statuses/history",
      );
    },
  },
  {
    ...shared,
    name: "listSimSessionEvents",
    path: "v1/sims/*/events/sessions",
    statuses: [200, 404],
    handle: (call) => {
      const { place } = listedSim(call, placeOf(call));
      return listOf(call, call.state.log.sessionsAt(place).toReversed(), "events/sessions");
    },
  },
];

function placeOf({ state, ids: [id = ""] }: Call): number | undefined {
  return state.sims.placeOfSimId(id);
}

function listOf(call: Call, items: readonly unknown[], path: string): Result {
  const placeAfter = (from: number, count: number): number => Math.min(from + count, items.length);
  const list = { path: `/v1/sims/${call.ids[0] ?? ""}/${path}`, places: items.length, placeAfter };
  return answerPage(call, list, (place) => JSON.stringify(items[place]));
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
