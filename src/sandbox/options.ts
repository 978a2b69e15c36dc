/** The options of a sandbox with their defaults: each module defines its own, and this file combines them. */
import { systemClock } from "#core/time.ts";
import type { Coverage, Language } from "#fleet/profile.ts";
import type { AccountOptions, Accounts } from "./accounts/accounts.ts";
import type { FaultOptions } from "./faults.ts";
import type { PageOptions } from "./http/paging.ts";
import type { StateOptions } from "./state.ts";
import { defaultLimits, type ThrottleOptions } from "./throttle.ts";

export interface SandboxOptions extends StateOptions, AccountOptions, PageOptions, ThrottleOptions, FaultOptions {
  /** Address to listen on. Default 127.0.0.1. */
  readonly host: string;
  /** Default 0: any free port. */
  readonly port: number;
  /** The word in the header names. Default Svc: `X-Svc-Token`, `x-svc-next-key`. */
  readonly brand: string;
  /** The coverages that this address serves. Default both. */
  readonly serves: readonly Coverage[];
  /** Language of messages if a call requests none. Default en. */
  readonly language: Language;
  /** Accounts of another sandbox, whose pairs then work here as well. The account options are ignored then. */
  readonly accounts: Accounts | undefined;
  /** Status of a created Credential Set: 200 or 201. Default 201. */
  readonly createdStatus: number;
  /** Largest request body, in bytes. Default 65536. */
  readonly maxBodyBytes: number;
  /** Added to every response: one delay, or the minimum and maximum of a seeded one. Default 0. */
  readonly latencyMs: number | readonly [number, number];
}

export const defaultOptions: SandboxOptions = {
  clock: systemClock,
  host: "127.0.0.1",
  port: 0,
  brand: "Svc",
  seed: 1,
  sims: 100,
  simIds: undefined,
  records: "svc",
  speedClasses: ["s1.minimum", "s1.slow", "s1.standard", "s1.fast", "s1.4xfast", "s1.8xfast"],
  coverageTypes: ["g"],
  serves: ["g", "jp"],
  language: "en",
  accounts: undefined,
  operatorId: "OP0000000001",
  rootEmail: "root@example.com",
  rootPassword: "sandbox-password",
  rootMfaSecret: undefined,
  userName: "robot",
  userPassword: "sandbox-password",
  userMfaSecret: undefined,
  authKeyId: "keyId-sandbox",
  authKey: "secret-sandbox",
  userAuthKeyId: undefined,
  userAuthKey: undefined,
  userKeyAccess: "own",
  revokeKillsPairs: false,
  ttlField: "tokenTimeoutSeconds",
  pairTtlSeconds: undefined,
  tokenAlgorithm: "ES256",
  pageSize: 100,
  maxPageSize: 1000,
  paging: "both",
  hostileCursors: false,
  shortPages: 0,
  emptyPages: 0,
  operations: "interface",
  groups: [],
  createdStatus: 201,
  maxBodyBytes: 65_536,
  limits: defaultLimits,
  periodSeconds: 60,
  rounding: "up",
  anchored: "start",
  windowOffsetMs: 0,
  competitor: {},
  limitChanges: [],
  faults: {},
  faultsOnAuth: false,
  slowMs: 2_000,
  latencyMs: 0,
};
