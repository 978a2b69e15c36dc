/** The options of a sandbox: what each may be, and its default. `docs/reference/sandbox.md` says what they do. */
import { z } from "zod";
import { ConfigError } from "#core/errors.ts";
import { readBase32 } from "#core/secrets/one-time-code.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { isSimId } from "#fleet/sim/sim.ts";
import { faultRates } from "./faults.ts";
import { recordShapes } from "./sims/sim-records.ts";

/** `interface`: the operations that the interface shows; `all`: also those that it only names. */
export const operationSets = ["interface", "all"] as const;
export type OperationSet = (typeof operationSets)[number];

/** The API groups with their usual limits in calls per minute; `Auth` is limited per caller IP, others per account. */
const usual = { Sim: 600, Subscriber: 60, Credential: 60, Operator: 60, Group: 60, Stats: 60, Files: 60, Auth: 60 };
export type ApiGroup = keyof typeof usual;
export const apiGroups = Object.keys(usual) as ApiGroup[];

/** `limit`: calls per period from then on; `afterMs` counts from now, in the options from the start of the sandbox. */
export const limitChange = z.strictObject({
  group: z.enum(apiGroups),
  limit: z.int().min(0),
  afterMs: z.number().min(0).default(0),
});
export type LimitChange = Readonly<z.output<typeof limitChange>>;

/** An initial group: `name` is shown as the tag `name`, by default the ID; `configuration` by namespace, then key. */
const groupSeed = z.strictObject({
  groupId: z.string().regex(/^[^/]{1,100}$/, "must have IDs without `/`"),
  name: z.string().optional(),
  configuration: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});
export type GroupSeed = Readonly<z.output<typeof groupSeed>>;

const count = z.int().min(0);
const share = z.number().min(0).max(1);
const latency = z.number().min(0).max(3_600_000);
const coverages = z.array(z.enum(["g", "jp"])).readonly();

const schema = z
  .object({
    // The server
    /** Clock of windows, lifetimes, delays and timestamps. */
    clock: z.custom<Clock>().default(systemClock),
    host: z.string().default("127.0.0.1"),
    /** 0: any free port. */
    port: count.max(65_535).default(0),
    /** The word in the header names: `X-Svc-Token`, `x-svc-next-key`. */
    brand: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9]*$/, "must be one word of letters and digits")
      .default("Svc"),
    /** Seed of records, faults, latencies and page lengths. */
    seed: z.int().default(1),
    operations: z.enum(operationSets).default("interface"),
    /** Added to every response: one delay, or the minimum and maximum of a seeded one. */
    latencyMs: z
      .union([latency, z.tuple([latency, latency]).readonly()])
      .refine((one) => typeof one === "number" || one[0] <= one[1], "must name the minimum before the maximum")
      .default(0),
    // The fleet
    /** Number of generated SIMs. */
    sims: count.max(1e8).default(100),
    /** SIM IDs to serve, in this order, instead of generated ones. */
    simIds: z
      .custom<readonly string[]>()
      .refine((ids) => ids.every(isSimId), "must be IDs of letters, digits, `-` and `_`, 64 at most")
      .refine((ids) => new Set(ids).size === ids.length, "must not name a SIM twice")
      .optional(),
    /** Shape of SIM records: with `imsi` at the top, or under `profiles`. */
    records: z.enum(recordShapes).default("svc"),
    /** Groups in addition to those of the seed; the ID of one of those gives it a configuration. */
    groups: z
      .array(groupSeed)
      .readonly()
      .refine((all) => new Set(all.map(({ groupId }) => groupId)).size === all.length, "must not name a group twice")
      .default([]),
    /** How long an export of usage takes, ms. */
    exportMs: z.number().min(0).max(86_400_000).default(2_000),
    /** Share of exports that fail. */
    exportFailures: share.default(0),
    // The account
    operatorId: z.string().default("OP0000000001"),
    rootEmail: z.string().default("root@example.com"),
    rootPassword: z.string().default("sandbox-password"),
    /** The sub-user. */
    userName: z.string().default("robot"),
    userPassword: z.string().default("sandbox-password"),
    /** With it, the Root user and the sub-user need a one-time code of this secret next to their passwords. */
    mfaSecret: z
      .string()
      .refine((text) => readBase32(text) !== undefined, "must be base32: letters A to Z and digits 2 to 7")
      .optional(),
    /** The Root user's AuthKey. */
    authKeyId: z.string().default("keyId-sandbox"),
    authKey: z.string().default("secret-sandbox"),
    /** An AuthKey of the sub-user. */
    userAuthKeyId: z.string().optional(),
    userAuthKey: z.string().optional(),
    /** The sub-user's lists end after the first SIMs. */
    userSims: count.optional(),
    /** Whether revoking an AuthKey ends the pairs that were made with it. */
    revokeKillsPairs: z.boolean().default(false),
    /** The operator's coverage types, as the token claims them. */
    coverageTypes: coverages.default(["g"]),
    /** The coverages that this address serves. */
    serves: coverages.refine((served) => served.length > 0, "must name g, jp or both").default(["g", "jp"]),
    // Lists
    /** Page size if a call requests none. */
    pageSize: z.int().min(1).max(1_000).default(100),
    /** Headers that contain the next page. */
    paging: z.enum(["both", "link", "key"]).default("both"),
    /** Use cursors with characters that break a client without percent-encoding. */
    hostileCursors: z.boolean().default(false),
    /** Share of pages that are shorter than requested. */
    shortPages: share.default(0),
    /** Share of pages that are empty although the list continues. */
    emptyPages: share.default(0),
    // The quota
    /** Calls per period for each API group. */
    limits: z
      .partialRecord(z.enum(apiGroups), count)
      .default({})
      .transform((given): Partial<Record<ApiGroup, number>> => ({ ...usual, ...given })),
    /** Length of a window; fractions are allowed. */
    periodSeconds: z.number().positive().default(60),
    /** How the seconds before refresh are rounded. */
    rounding: z.enum(["up", "down", "nearest"]).default("up"),
    /** `start`: windows follow each other from the start; `first-call`: each opens at the first call after the last. */
    anchored: z.enum(["start", "first-call"]).default("start"),
    /** With `start`: the offset into a window at which the sandbox starts. */
    windowOffsetMs: z.number().min(0).default(0),
    /** Another caller's steady rate in each group, in calls per second. */
    competitor: z.partialRecord(z.enum(apiGroups), z.number().min(0).max(10_000)).default({}),
    /** Scheduled changes of limits. */
    limitChanges: z.array(limitChange).readonly().default([]),
    // Faults
    /** Probability of each fault per call. */
    faults: faultRates.default({}),
    /** Whether faults also apply to authentication. */
    faultsOnAuth: z.boolean().default(false),
    /** Share of the SIMs that each operation takes offline, by its name, such as `updateSimSpeedClass`. */
    takesOffline: z.record(z.string(), share).default({}),
    /** Delay of the fault `slow`. */
    slowMs: z.number().min(0).max(86_400_000).default(2_000),
  })
  .refine(({ userAuthKeyId, userAuthKey }) => (userAuthKeyId === undefined) === (userAuthKey === undefined), {
    path: ["userAuthKey"],
    error: "needs userAuthKeyId, and vice versa",
    when: () => true,
  })
  .refine(({ authKeyId, userAuthKeyId }) => userAuthKeyId !== authKeyId, {
    path: ["userAuthKeyId"],
    error: "must not be the ID of the Root user's AuthKey",
    when: () => true,
  });

export type SandboxOptions = Readonly<z.output<typeof schema>>;

/** The options with their defaults. @throws ConfigError with every invalid option */
export function resolveOptions(given: Partial<SandboxOptions>): SandboxOptions {
  const resolved = schema.safeParse(given);
  if (resolved.success) return resolved.data;
  throw new ConfigError(
    resolved.error.issues.map(({ path, message }) => ({ where: path.join(".") || "options", message })),
  );
}

export const defaultOptions = resolveOptions({});
