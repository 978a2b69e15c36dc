/**
 * The status machine of a SIM. A new SIM is ready and never becomes ready again; a terminated one never changes. Setting
 * the present status succeeds and changes nothing.
 */
import { Refusal } from "../refusals.ts";
import type { SimStatus } from "../sims/sim-records.ts";
import type { ActedSim } from "./acted-sim.ts";
import type { SimAction } from "./sim-action.ts";

interface Move {
  readonly name: string;
  readonly path: string;
  readonly to: SimStatus;
  /** The statuses from which the move is possible, beside `to`. */
  readonly from: readonly SimStatus[];
}

const moves: readonly Move[] = [
  { name: "activateSim", path: "activate", to: "active", from: ["ready", "inactive", "standby", "suspended"] },
  { name: "deactivateSim", path: "deactivate", to: "inactive", from: ["ready", "active"] },
  { name: "suspendSim", path: "suspend", to: "suspended", from: ["active", "inactive"] },
  { name: "setSimToStandby", path: "set_to_standby", to: "standby", from: ["ready", "active", "inactive"] },
];

/** The statuses that a subscription does not have. */
const missingStatuses: Readonly<Record<string, readonly SimStatus[]>> = {
  "plan-US": ["standby"],
  "plan-KM1": ["standby", "suspended"],
};

export const statusActions: readonly SimAction[] = [
  ...moves.map(({ name, path, to, from }): SimAction => ({
    name,
    path,
    method: "POST",
    statuses: [200, 400, 404],
    act: (sim) => move(sim, to, from),
  })),
  {
    name: "terminateSim",
    method: "POST",
    path: "terminate",
    statuses: [200, 400, 404],
    act: (sim) => {
      if (!sim.facts.terminationEnabled) throw new Refusal("terminationProtected");
      sim.moveTo("terminated");
    },
  },
  {
    name: "enableSimTermination",
    method: "POST",
    path: "enable_termination",
    statuses: [200, 404],
    act: (sim) => sim.set({ terminationEnabled: true }),
  },
  {
    name: "disableSimTermination",
    method: "POST",
    path: "disable_termination",
    statuses: [200, 404],
    act: (sim) => sim.set({ terminationEnabled: false }),
  },
];

function move(sim: ActedSim, to: SimStatus, from: readonly SimStatus[]): void {
  const { status, subscription } = sim.facts;
  if (status === to) return;
  if (missingStatuses[subscription]?.includes(to) === true) throw new Refusal("statusNotOffered");
  if (!from.includes(status)) throw new Refusal("transitionRefused");
  sim.moveTo(to);
}
