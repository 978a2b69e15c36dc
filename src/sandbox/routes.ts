/**
 * The operations of the interface (section 4): which path and method they have, which API group they count in, and what
 * they do to the state. How a call is authenticated, throttled and struck by faults is the exchange's matter.
 */
import type { Wording } from "#fleet/sim.ts";
import type { Accounts } from "./accounts.ts";
import { Refusal } from "./messages.ts";
import type { SandboxOptions } from "./options.ts";
import { cutPage, pageHeaders } from "./paging.ts";
import type { HeaderNames } from "./request.ts";
import type { Sims } from "./sims.ts";
import type { SandboxState } from "./state.ts";
import type { ApiGroup } from "./throttle.ts";

/** One call, as far as an operation needs to know it. */
interface Call {
  readonly options: SandboxOptions;
  readonly accounts: Accounts;
  readonly state: SandboxState;
  /** The variable part of the path, percent-decoded; empty where the path has none. */
  readonly id: string;
  readonly names: HeaderNames;
  /** The query as it came, without the question mark. */
  readonly queryText: string;
  /** The body as an object. @throws Refusal when it is none */
  readonly body: () => Readonly<Record<string, unknown>>;
}

export interface Result {
  readonly status: number;
  /** The body as JSON. */
  readonly text: string;
  /** Raw header list: name, value, name, value. */
  readonly headers?: readonly string[];
}

export interface Operation {
  readonly name: string;
  readonly needsPair: boolean;
  handle(call: Call): Result | Promise<Result>;
}

/** What a path is: its API group and its operations by method. */
export interface Place {
  /** Absent: outside every quota. */
  readonly group: ApiGroup | undefined;
  readonly byMethod: ReadonlyMap<string, Operation>;
}

const places = new Map<string, Place>([
  place("v1/auth", "Auth", "POST", { name: "auth", needsPair: false, handle: authenticate }),
  place("v1/sims", "Sim", "GET", {
    name: "listSims",
    needsPair: true,
    handle: (call) => list(call, "sims"),
  }),
  place("v1/sims/*/update_speed_class", "Sim", "POST", {
    name: "updateSimSpeedClass",
    needsPair: true,
    handle: (call) => updateSpeedClass(call, "sims"),
  }),
  place("v1/subscribers", "Sim", "GET", {
    name: "listSubscribers",
    needsPair: true,
    handle: (call) => list(call, "subscribers"),
  }),
  place("v1/subscribers/*/update_speed_class", "Sim", "POST", {
    name: "updateSubscriberSpeedClass",
    needsPair: true,
    handle: (call) => updateSpeedClass(call, "subscribers"),
  }),
  place("v1/credentials/*", "Credential", "POST", {
    name: "createCredential",
    needsPair: true,
    handle: createCredential,
  }),
  place(".well-known/jwks.json", undefined, "GET", {
    name: "jwks",
    needsPair: false,
    handle: ({ accounts }) => ({ status: 200, text: JSON.stringify(accounts.jwks) }),
  }),
]);

/** Finds the place of a path such as `/v1/sims/8942…/update_speed_class`, and the variable part of the path. */
export function locate(path: string): (Place & { id: string }) | undefined {
  const [, version = "", noun = "", id, verb, ...rest] = path.split("/");
  if (id === "" || rest.length > 0) return undefined;
  const pattern = `${version}/${noun}${id === undefined ? "" : "/*"}${verb === undefined ? "" : `/${verb}`}`;
  const found = places.get(pattern);
  return found && { group: found.group, byMethod: found.byMethod, id: decoded(id ?? "") };
}

function place(path: string, group: ApiGroup | undefined, method: string, operation: Operation): [string, Place] {
  return [path, { group, byMethod: new Map([[method, operation]]) }];
}

async function authenticate({ accounts, body }: Call): Promise<Result> {
  return { status: 200, text: JSON.stringify(await accounts.authenticate(body())) };
}

function list({ names, options, state: { sims }, queryText }: Call, wording: Wording): Result {
  const path = `/v1/${wording}`;
  const placeAfter = (from: number, items: number): number => sims.placeAfter(from, items);
  const page = cutPage(options, { path, places: sims.places, placeAfter }, new URLSearchParams(queryText));
  const texts: string[] = [];
  for (let at = page.from; at < page.to; at += 1) if (sims.isListedAt(at)) texts.push(show(sims, at, wording));
  const headers =
    page.cursor === undefined ? [] : pageHeaders(options, { path, cursor: page.cursor, keyHeader: names.nextKey });
  return { status: 200, text: `[${texts.join(",")}]`, headers };
}

function updateSpeedClass({ state: { sims }, id, body }: Call, wording: Wording): Result {
  const { speedClass } = body();
  const at = wording === "sims" ? sims.placeOfSimId(id) : sims.placeOfImsi(id);
  if (at === undefined || !sims.isListedAt(at)) throw new Refusal("simUnknown");
  if (typeof speedClass !== "string" || speedClass === "") throw new Refusal("speedClassMissing");
  if (!sims.setSpeedClass(at, speedClass)) throw new Refusal("speedClassUnknown");
  return { status: 200, text: show(sims, at, wording) };
}

function show(sims: Sims, at: number, wording: Wording): string {
  return wording === "sims" ? sims.textAt(at) : sims.subscriberTextAt(at);
}

function createCredential({ options, state, id, body }: Call): Result {
  return { status: options.createdStatus, text: JSON.stringify(state.credentials.create(id, body())) };
}

function decoded(part: string): string {
  if (!part.includes("%")) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
