/**
 * The records of SIMs: what the seed makes of a place in the list, and the two shapes in which answers show it. `svc` has
 * the fields of the interface at the top; `soracom` has no `imsi`, `msisdn` and `subscription` there, since a deployment
 * keeps them under `profiles`, next to a secret that nobody may store or print. Times are epoch milliseconds in both.
 * Records are JSON text from the start: objects whose keys are ids would make long lists three times slower.
 */
import { seededBits } from "./seeded.ts";

export const recordShapes = ["svc", "soracom"] as const;
export type RecordShape = (typeof recordShapes)[number];

/** Everything about a SIM, all of it at the top. */
export interface SimFacts {
  readonly simId: string;
  readonly imsi: string;
  readonly msisdn: unknown;
  readonly subscription: unknown;
  readonly status: unknown;
  readonly speedClass: string;
  readonly [field: string]: unknown;
}

/** A SIM as answers show it; beyond `simId`, `imsi` and `speedClass` the fields are the sandbox's choice. */
export interface SimRecord {
  readonly simId: string;
  /** Absent in the shape `soracom`. */
  readonly imsi?: string;
  readonly speedClass: string;
  readonly [field: string]: unknown;
}

/** Where the seed finds the values of a SIM. */
interface Origin {
  readonly seed: number;
  readonly place: number;
}

const statuses = ["active", "active", "active", "active", "active", "ready", "inactive", "standby"];
const groups = [null, null, "6f1f0d52-stadium", "0b7c1e9a-vending", "c3d2a481-trucks", "91e5bb07-meters"];
const sites = ["berlin", "osaka", "tokyo", "austin", "stadium", undefined];
const subscriptions = ["plan01s", "plan01s", "plan01s", "plan-US"];
export const firstCreatedMs = Date.UTC(2024, 0, 1);
const createdSpanMs = Date.UTC(2026, 0, 1) - firstCreatedMs;

/** The groups that the seed puts SIMs in. */
export const seededGroupIds = [...new Set(groups)].filter((groupId) => groupId !== null);

/** What a SIM has of its own, beyond what the seed makes. */
interface OwnFacts {
  readonly simId: string;
  readonly imsi: string;
  readonly operatorId: string;
  readonly speedClass: string;
  /** 0: never changed. */
  readonly modifiedMs: number;
}

export function factsOf({ seed, place }: Origin, own: OwnFacts): SimFacts {
  const bits = seededBits(seed, place);
  const createdTime = firstCreatedMs + Math.floor((bits / 2 ** 32) * createdSpanMs);
  const site = sites[(bits >>> 8) % sites.length];
  const name = `sim-${place + 1}`;
  const status = statuses[bits % statuses.length];
  return {
    simId: own.simId,
    operatorId: own.operatorId,
    imsi: own.imsi,
    msisdn: `42300${String(place).padStart(9, "0")}`,
    subscription: subscriptions[(bits >>> 20) % subscriptions.length],
    status,
    speedClass: own.speedClass,
    type: "s1.standard",
    moduleType: "nano",
    groupId: groups[(bits >>> 4) % groups.length],
    tags: site === undefined ? { name } : { name, site },
    sessionStatus: { online: status === "active" && (bits & 0x1000) !== 0 },
    expiryAction: null,
    createdTime,
    lastModifiedTime: own.modifiedMs || createdTime,
  };
}

export function recordText(shape: RecordShape, facts: SimFacts, origin: Origin): string {
  if (shape === "svc") return JSON.stringify(facts);
  const { simId, imsi, msisdn, subscription, status } = facts;
  const record = JSON.stringify({ ...facts, imsi: undefined, msisdn: undefined, subscription: undefined });
  const subscriber = JSON.stringify({ imsi, msisdn, subscription, status });
  const profile =
    `{"iccid":"${simId}","primaryImsi":"${imsi}","subscribers":{"${imsi}":${subscriber}},` +
    `"arcClientPeerPrivateKey":"${peerKeyOf(origin)}"}`;
  return `${record.slice(0, -1)},"profiles":{"${simId}":${profile}}}`;
}

/** In the earlier wording a record is known by its IMSI alone, in either shape. */
export function subscriberText(facts: SimFacts): string {
  return JSON.stringify({ ...facts, simId: undefined, iccid: facts.simId });
}

/** Looks like a private key of 32 bytes, and differs from SIM to SIM. */
function peerKeyOf({ seed, place }: Origin): string {
  for (let i = 0; i < 8; i += 1) peerKey.writeUInt32BE(seededBits(seed ^ 0xa2c, place * 8 + i), i * 4);
  return peerKey.toString("base64");
}

const peerKey = Buffer.alloc(32);
