/**
 * Controls a running sandbox over HTTP, under `/_sandbox/`: no authentication, no quota, no faults, and only for
 * callers on this machine. It is meant for manual use with curl and for tests in another process; it is not part of the
 * platform's interface. Unknown members of a body are rejected.
 */
import { z } from "zod";
import { openAccounts } from "./account/accounts.ts";
import { isLoopback } from "#core/loopback.ts";
import { faultKinds, faultRates, openFaults } from "./faults.ts";
import { apiGroups, limitChange, type SandboxOptions } from "./options.ts";
import { answer, type Received, type Result } from "./operation.ts";
import { openFleet } from "./sims/fleet.ts";
import { openState } from "./state.ts";
import { openThrottle } from "./quota.ts";

/** Parts of the sandbox that can be controlled and inspected. */
export type Controls = Awaited<ReturnType<typeof openControls>>;

export async function openControls(options: SandboxOptions) {
  const state = openState(options);
  return {
    options,
    accounts: await openAccounts(options),
    state,
    fleet: openFleet(state),
    throttle: openThrottle(options),
    faults: openFaults(options),
  };
}

type ControlCall = Pick<Received, "method" | "path" | "bodyText" | "isTooLarge" | "callerIp">;

const group = z.enum(apiGroups);
const nothing = z.strictObject({});
const faultChange = z
  .strictObject({
    rates: faultRates.optional(),
    next: z
      .strictObject({
        fault: z.enum(faultKinds),
        count: z.int().min(1).max(100_000).default(1),
        operation: z.string().min(1).max(100).optional(),
      })
      .optional(),
  })
  .refine(({ rates, next }) => rates ?? next, "send `rates`, `next` or both");

/** The calls that change something, by path. */
const posts = new Map([
  post("fleet", z.unknown(), ({ fleet }, change) => ({ added: fleet.change(change) })),
  post("faults", faultChange, ({ faults }, { rates, next }) => {
    if (rates) faults.rates = rates;
    if (next) faults.next(next.fault, next.count, next.operation);
  }),
  post("limits", limitChange, ({ throttle }, change) => throttle.changeLimit(change)),
  post("competitor", z.strictObject({ group, callsPerSecond: z.number().min(0).max(10_000) }), ({ throttle }, rival) =>
    throttle.compete(rival.group, rival.callsPerSecond),
  ),
  post(
    "credentials-used",
    z.strictObject({ credentialsId: z.string().min(1).max(100) }),
    ({ state }, { credentialsId }) => state.credentials.noteUse(credentialsId),
  ),
  post("expire-pairs", nothing, ({ accounts }) => accounts.expirePairs()),
  post("reset", nothing, ({ accounts, state, throttle, faults }) => {
    for (const part of [accounts, state, throttle, faults]) part.reset();
  }),
]);

/** Handles one call under `/_sandbox/`. */
export function control(controls: Controls, call: ControlCall): Result {
  if (!isLoopback(call.callerIp.replace("::ffff:", ""))) return refusal(403, "Only this machine controls the sandbox.");
  const [what = "", id, ...rest] = call.path.split("/").slice(2);
  const change = call.method === "POST" && id === undefined ? posts.get(what) : undefined;
  if (change !== undefined) {
    return call.isTooLarge ? refusal(413, "The body is too large.") : change(controls, call.bodyText);
  }
  if (call.method === "GET" && what === "state" && id === undefined) return answer(200, describe(controls));
  if (call.method === "GET" && what === "sims" && id && rest.length === 0) return showSim(controls, id);
  const known = `GET state, GET sims/{id}, POST ${[...posts.keys()].join(", ")}`;
  return refusal(404, `There is no ${call.method} ${call.path}. There are: ${known}, all under /_sandbox/.`);
}

type Change = (controls: Controls, bodyText: string) => Result;

/** A call that acts as its body says. The result of `act` is returned together with the state. */
function post<T>(
  path: string,
  schema: z.ZodType<T>,
  act: (controls: Controls, wanted: T) => Readonly<Record<string, unknown>> | void,
): [string, Change] {
  const change: Change = (controls, bodyText) => {
    try {
      const wanted = schema.parse(bodyText === "" ? {} : JSON.parse(bodyText));
      const shown = act(controls, wanted) ?? {};
      return answer(200, { ...describe(controls), ...shown });
    } catch (thrown) {
      if (thrown instanceof SyntaxError) return refusal(400, "The body is not JSON.");
      if (thrown instanceof z.ZodError) return refusal(400, z.prettifyError(thrown));
      if (thrown instanceof RangeError) return refusal(400, thrown.message);
      throw thrown;
    }
  };
  return [path, change];
}

function describe({ options, accounts, state, throttle, faults }: Controls): Record<string, unknown> {
  return {
    nowMs: options.clock.monotonicMs(),
    totals: state.totals,
    effects: state.sims.effectTotals,
    sims: state.sims.count,
    credentials: state.credentials.count,
    groups: state.groups.count,
    livePairs: accounts.livePairs,
    windows: Object.fromEntries(apiGroups.map((name) => [name, throttle.windows(name).slice(-60)])),
    faults: { rates: faults.rates, ordered: faults.ordered.length, counts: faults.counts },
  };
}

function showSim({ state }: Controls, id: string): Result {
  const record = state.recordOf(id);
  if (record === undefined) return refusal(404, `There is no SIM ${id}.`);
  const counts = { acceptedChanges: state.acceptedChanges(id), effects: state.effectsOn(id) };
  return answer(200, { ...counts, isListed: state.isListed(id), record });
}

function refusal(status: number, message: string): Result {
  return answer(status, { message });
}
