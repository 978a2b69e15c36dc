/** The operations on SIMs (interface, section 4), in both variants. */
import type { Wording } from "#fleet/sim/sim.ts";
import { Refusal } from "../refusals.ts";
import { answerPage, type Call, type Operation, type Result } from "../operation.ts";
import type { Sims } from "./sims.ts";

export const simOperations: readonly Operation[] = [
  {
    name: "listSims",
    method: "GET",
    path: "v1/sims",
    group: "Sim",
    needsPair: true,
    handle: (call) => list(call, "sims"),
  },
  {
    name: "updateSimSpeedClass",
    method: "POST",
    path: "v1/sims/*/update_speed_class",
    group: "Sim",
    needsPair: true,
    handle: (call) => updateSpeedClass(call, "sims"),
  },
  {
    name: "listSubscribers",
    method: "GET",
    path: "v1/subscribers",
    group: "Sim",
    needsPair: true,
    handle: (call) => list(call, "subscribers"),
  },
  {
    name: "updateSubscriberSpeedClass",
    method: "POST",
    path: "v1/subscribers/*/update_speed_class",
    group: "Sim",
    needsPair: true,
    handle: (call) => updateSpeedClass(call, "subscribers"),
  },
];

function list(call: Call, wording: Wording): Result {
  const { sims } = call.state;
  const placeAfter = (from: number, items: number): number => sims.placeAfter(from, items);
  return answerPage(call, { path: `/v1/${wording}`, places: sims.places, placeAfter }, (place) =>
    sims.isListedAt(place) ? textOf(sims, place, wording) : undefined,
  );
}

function updateSpeedClass(call: Call, wording: Wording): Result {
  const { options, state, body } = call;
  const { sims } = state;
  const [id = ""] = call.ids;
  const { speedClass } = body();
  const place = wording === "sims" ? sims.placeOfSimId(id) : sims.placeOfImsi(id);
  if (place === undefined || !sims.isListedAt(place)) throw new Refusal("simUnknown");
  if (sims.isTerminatedAt(place)) throw new Refusal("simTerminated");
  if (typeof speedClass !== "string" || speedClass === "") throw new Refusal("speedClassMissing");
  if (!sims.setSpeedClass(place, speedClass)) throw new Refusal("speedClassUnknown");
  // Only then is there an operation that lists it.
  if (options.operations === "all") state.log.noteStatus(place);
  return { status: 200, text: textOf(sims, place, wording) };
}

function textOf(sims: Sims, place: number, wording: Wording): string {
  return wording === "sims" ? sims.textAt(place) : sims.subscriberTextAt(place);
}
