/**
 * An action on one SIM, as a row of the tables in this folder: its call, the statuses that are described for it, and
 * what it does. `operationOf` makes the operation of it that the routes serve: it finds the SIM, refuses one that is
 * terminated, and counts the effect.
 */
import { Refusal } from "../refusals.ts";
import type { Call, Operation, Result } from "../operation.ts";
import type { ApiGroup } from "../options.ts";
import { ActedSim } from "./acted-sim.ts";

export interface SimAction {
  readonly name: string;
  readonly method: "POST" | "PUT" | "DELETE";
  /** Below `/v1/sims/{simId}/`, with `*` for a variable part; or a whole path with the IMSI. */
  readonly path: string;
  /** Of answers of the action itself, the first of them for success. */
  readonly statuses: readonly [number, ...number[]];
  /** Changes the SIM. @returns the answer; default: status 200 with the record @throws Refusal */
  readonly act: (sim: ActedSim, call: Call) => Result | void;
}

/** An operation on SIMs with the statuses that are described for it; any call can get others as well. */
export interface SimOperation extends Operation {
  readonly statuses: readonly number[];
}

export function operationOf({ name, method, path, statuses, act }: SimAction): SimOperation {
  const isByImsi = path.startsWith("v1/subscribers/");
  const group: ApiGroup = isByImsi ? "Subscriber" : "Sim";
  return {
    name,
    method,
    path: isByImsi ? path : `v1/sims/*/${path}`,
    group,
    needsPair: true,
    statuses,
    handle: (call) => {
      const { sims, log } = call.state;
      const [id = ""] = call.ids;
      const place = isByImsi ? sims.placeOfImsi(id) : sims.placeOfSimId(id);
      const sim = listedSim(call, place);
      sim.checkNotTerminated();
      const result = act(sim, call);
      log.countEffect(sim.place, name);
      return result ?? { status: statuses[0], text: sim.text };
    },
  };
}

/** @throws Refusal if there is no SIM at the position */
export function listedSim({ state, options }: Call, place: number | undefined): ActedSim {
  if (place === undefined || !state.sims.isListedAt(place)) throw new Refusal("simUnknown");
  return new ActedSim(state, options, place);
}

/** The body as an object; empty if none was sent. */
export function bodyOf(call: Call): Readonly<Record<string, unknown>> {
  return call.hasBody ? call.body() : {};
}

export function isCountOf(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
