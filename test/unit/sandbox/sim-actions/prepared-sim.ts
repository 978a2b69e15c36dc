/** A sandbox with one SIM on which every operation succeeds, and a call of each operation. */
import { expect } from "vitest";
import type { Operation } from "#sandbox/operation.ts";
import type { SandboxOptions } from "#sandbox/options.ts";
import { type Answered, type OpenSandbox, openSandbox } from "../open-sandbox.ts";

export const simId = "sim-a";
export const groupId = "91e5bb07-meters";
const imei = "350000000000001";

const prepared = {
  status: "active",
  subscription: "plan01s",
  groupId: null,
  terminationEnabled: true,
  tags: { name: "pump", site: "osaka" },
  sessionStatus: { online: true, imei },
  expiryTime: 1_900_000_000_000,
  expiryAction: "suspend",
  imeiLock: null,
};

export interface PreparedSim extends OpenSandbox {
  /** Calls an operation on the SIM, or on another. */
  readonly act: (operation: Operation, id?: string) => Promise<Answered>;
  readonly post: (path: string, body?: unknown) => Promise<Answered>;
  readonly record: () => Readonly<Record<string, any>>;
  readonly effects: () => Readonly<Record<string, number>>;
}

export async function openPreparedSim(options: Partial<SandboxOptions> = {}): Promise<PreparedSim> {
  const opened = await openSandbox({ operations: "all", records: "soracom", simIds: [simId], ...options });
  const { state, fleet } = opened.sandbox;
  fleet.edit(simId, prepared);
  const imsi = state.sims.imsiAt(0);
  const idFor = (operation: Operation): string => (operation.path.startsWith("v1/subscribers/") ? imsi : simId);
  return {
    ...opened,
    act: async (operation, id = idFor(operation)) => {
      const { method, path, name } = operation;
      const body = examples[name]?.body;
      return opened.call(method, pathOf(path, id, name), body === undefined ? {} : { body });
    },
    post: async (path, body) => opened.call("POST", `/v1/sims/${simId}/${path}`, body === undefined ? {} : { body }),
    record: () => state.recordOf(simId) ?? {},
    effects: () => state.effectsOn(simId),
  };
}

/** The path with its variable parts filled in: the SIM, then the name of a tag. */
function pathOf(path: string, id: string, name: string): string {
  return `/${path.replace("*", id).replace("*", examples[name]?.variable ?? "")}`;
}

interface Example {
  readonly body?: unknown;
  /** The second variable part of the path. */
  readonly variable?: string;
  /** Default 200. */
  readonly status?: number;
  /** Fields of the record afterward; undefined for one that is not there. */
  readonly sets?: Readonly<Record<string, unknown>>;
}

/** A successful call of every operation. */
export const examples: Readonly<Record<string, Example>> = {
  activateSim: { sets: { status: "active" } },
  deactivateSim: { sets: { status: "inactive", sessionStatus: { online: false } } },
  suspendSim: { sets: { status: "suspended", renewalFeeStatusSetTime: expect.any(Number) } },
  setSimToStandby: { sets: { status: "standby", renewalFeeStatusSetTime: expect.any(Number) } },
  terminateSim: { sets: { status: "terminated", sessionStatus: { online: false } } },
  enableSimTermination: { sets: { terminationEnabled: true } },
  disableSimTermination: { sets: { terminationEnabled: false } },
  setSimGroup: { body: { groupId }, sets: { groupId } },
  unsetSimGroup: { sets: { groupId: undefined } },
  putSimTags: {
    body: [
      { tagName: "site", tagValue: "berlin" },
      { tagName: "floor 2/é", tagValue: "" },
    ],
    sets: { tags: { name: "pump", site: "berlin", "floor 2/é": "" } },
  },
  deleteSimTag: { variable: "site", status: 204, sets: { tags: { name: "pump" } } },
  setSimExpiryTime: {
    body: { expiryTime: 1_950_000_000_000, expiryAction: "deactivate" },
    sets: { expiryTime: 1_950_000_000_000, expiryAction: "deactivate" },
  },
  unsetSimExpiryTime: { sets: { expiryTime: undefined, expiryAction: undefined } },
  setSimImeiLock: { body: { imei: "350000000000002" }, sets: { imeiLock: { imei: "350000000000002" } } },
  unsetSimImeiLock: { sets: { imeiLock: undefined } },
  putBundles: { body: ["bundle-10MB"] },
  deleteSimSession: {},
  sendSimSms: { status: 202, body: { payload: "on", encodingType: 1 } },
  reportSimLocalInfo: { status: 202 },
  sendSimDownlinkPing: { body: { numberOfPingRequests: 1, timeoutSeconds: 10 } },
  getSim: {},
  listSimStatusHistory: {},
};
