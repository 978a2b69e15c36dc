/**
 * Controls a running sandbox over HTTP, under `/_sandbox/`: no authentication, no quota, no faults, and only for
 * callers on this machine. It is meant for manual use with curl and for tests in another process; it is not part of the
 * platform's interface.
 */
import { z } from "zod";
import type { Accounts } from "../accounts/accounts.ts";
import { controlBodies } from "./control-bodies.ts";
import type { Faults } from "../faults.ts";
import type { Fleet } from "../sims/fleet.ts";
import { apiGroups, type SandboxOptions } from "../options.ts";
import type { SandboxState } from "../state.ts";
import type { Throttle } from "../throttle.ts";

/** What can be controlled and inspected. */
export interface Controls {
  readonly options: SandboxOptions;
  readonly accounts: Accounts;
  readonly state: SandboxState;
  readonly fleet: Fleet;
  readonly throttle: Throttle;
  readonly faults: Faults;
}

interface ControlCall {
  readonly method: string;
  readonly path: string;
  readonly bodyText: string;
  readonly isTooLarge: boolean;
  readonly callerIp: string;
}

export interface ControlAnswer {
  readonly status: number;
  readonly value: unknown;
}

/** Handles one call under `/_sandbox/`. */
export function control(controls: Controls, call: ControlCall): ControlAnswer {
  if (!isLoopback(call.callerIp)) return { status: 403, value: { message: "Only this machine controls the sandbox." } };
  const [, , what = "", id, ...rest] = call.path.split("/");
  if (rest.length > 0 || (id !== undefined && what !== "sims")) return unknown(call);
  if (call.method === "GET" && what === "state") return { status: 200, value: describe(controls) };
  if (call.method === "GET" && what === "sims" && id) return showSim(controls, id);
  if (call.method !== "POST") return unknown(call);
  if (call.isTooLarge) return { status: 413, value: { message: "The body is too large." } };
  switch (what) {
    case "fleet":
      return steer(controls, call.bodyText, controlBodies.fleet, (change) => ({
        added: controls.fleet.change(change),
      }));
    case "faults":
      return steer(controls, call.bodyText, controlBodies.faults, ({ rates, next }) => {
        if (rates) controls.faults.setRates(rates);
        if (next) controls.faults.next(next.fault, next.count, next.operation);
      });
    case "limits":
      return steer(controls, call.bodyText, controlBodies.limits, (change) => controls.throttle.changeLimit(change));
    case "competitor":
      return steer(controls, call.bodyText, controlBodies.competitor, (rival) =>
        controls.throttle.compete(rival.group, rival.callsPerSecond),
      );
    case "credentials-used":
      return steer(controls, call.bodyText, controlBodies.credentialsUsed, ({ credentialsId }) =>
        controls.state.credentials.noteUse(credentialsId),
      );
    case "expire-pairs":
      return steer(controls, call.bodyText, controlBodies.nothing, () => controls.accounts.expirePairs());
    case "reset":
      return steer(controls, call.bodyText, controlBodies.nothing, () => reset(controls));
    default:
      return unknown(call);
  }
}

/** The result of `act` is returned together with the state. */
function steer<T>(
  controls: Controls,
  body: string,
  schema: z.ZodType<T>,
  act: (wanted: T) => Readonly<Record<string, unknown>> | void,
): ControlAnswer {
  let sent: unknown;
  try {
    sent = body === "" ? {} : JSON.parse(body);
  } catch {
    return refusal("The body is not JSON.");
  }
  const wanted = schema.safeParse(sent);
  if (!wanted.success) return refusal(z.prettifyError(wanted.error));
  try {
    const shown = act(wanted.data) ?? {};
    return { status: 200, value: { ...describe(controls), ...shown } };
  } catch (thrown) {
    if (thrown instanceof RangeError) return refusal(thrown.message);
    throw thrown;
  }
}

function reset({ accounts, state, throttle, faults }: Controls): void {
  accounts.reset();
  state.reset();
  throttle.reset();
  faults.reset();
}

function describe({ options, accounts, state, throttle, faults }: Controls): Record<string, unknown> {
  return {
    nowMs: options.clock.monotonicMs(),
    totals: state.totals,
    effects: state.effectTotals,
    sims: state.sims.count,
    credentials: state.credentials.count,
    groups: state.groups.count,
    livePairs: accounts.livePairs,
    windows: Object.fromEntries(apiGroups.map((name) => [name, throttle.windows(name).slice(-60)])),
    faults: { rates: faults.rates, ordered: faults.ordered.length, counts: faults.counts },
  };
}

function showSim({ state }: Controls, id: string): ControlAnswer {
  const record = state.recordOf(id);
  if (record === undefined) return { status: 404, value: { message: `There is no SIM ${id}.` } };
  const counts = { acceptedChanges: state.acceptedChanges(id), effects: state.effectsOn(id) };
  return { status: 200, value: { ...counts, isListed: state.isListed(id), record } };
}

function refusal(message: string): ControlAnswer {
  return { status: 400, value: { message } };
}

function unknown(call: ControlCall): ControlAnswer {
  const message =
    `There is no ${call.method} ${call.path}. There are: GET state, GET sims/{id}, ` +
    "POST fleet, faults, limits, competitor, credentials-used, expire-pairs and reset, all under /_sandbox/.";
  return { status: 404, value: { message } };
}

function isLoopback(ip: string): boolean {
  return ip === "::1" || ip.startsWith("127.") || ip.startsWith("::ffff:127.");
}
