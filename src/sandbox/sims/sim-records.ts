/**
 * The records of SIMs: generated from the seed and the position in the list, in two shapes. `svc` has the fields of the
 * interface at the top level; `soracom` has no `imsi`, `msisdn` and `subscription` there, since a platform keeps them
 * under `profiles`, next to a secret that must never be stored or printed; a field without a value is omitted there
 * (null in `svc`), and `type` is the kind of the card. Times are epoch milliseconds in both.
 *
 * Records are assembled as JSON text: objects whose keys are ids would make long lists of the second shape slow.
 */
import { seededBits } from "../seeded.ts";

export const recordShapes = ["svc", "soracom"] as const;
export type RecordShape = (typeof recordShapes)[number];

/** A SIM as responses show it; the fields other than `simId`, `imsi` and `speedClass` are chosen by the sandbox. */
export interface SimRecord {
  readonly simId: string;
  /** IMSI. Absent in the shape `soracom`. */
  readonly imsi?: string;
  readonly speedClass: string;
  readonly [field: string]: unknown;
}

/** The statuses of a SIM in the order of its life; the seed makes no SIM that is terminated. */
export const simStatuses = ["ready", "active", "inactive", "standby", "suspended", "terminated"] as const;
export type SimStatus = (typeof simStatuses)[number];

const statuses = ["active", "active", "active", "active", "active", "ready", "inactive", "standby"] as const;
const groups = [null, null, "6f1f0d52-stadium", "0b7c1e9a-vending", "c3d2a481-trucks", "91e5bb07-meters"];
const sites = ["berlin", "osaka", "tokyo", "austin", "stadium", undefined];
const subscriptions = ["plan01s", "plan01s", "plan01s", "plan-US"];
/** Kinds of cards in the shape `soracom`, and the module of each. */
const cards = ["uicc", "uicc", "uicc", "euicc", "virtual"] as const;
const modules = { uicc: "nano", euicc: "embedded", virtual: "virtual" };
export const dayMs = 86_400_000;

/** The first 14 digits of an IMEI. */
const firstImei = 35_000_000_000_000;
const expiryActions = ["doNothing", "deleteSession", "deactivate", "suspend"] as const;
const firstExpiryMs = Date.UTC(2030, 0, 1);

/** The statuses whose start counts for the renewal fee. */
const renewalStatuses = ["ready", "standby", "suspended"];

export const firstCreatedMs = Date.UTC(2024, 0, 1);
const createdSpanMs = Date.UTC(2026, 0, 1) - firstCreatedMs;

/** The groups to which the seed assigns SIMs. */
export const seededGroupIds = [...new Set(groups)].filter((groupId) => groupId !== null);

/** Fields that were set from outside, with their values. */
export type Edits = Readonly<Record<string, unknown>>;

/** Source of a record. */
export interface SimSource {
  readonly seed: number;
  readonly place: number;
  readonly simId: string;
  readonly imsi: string;
  readonly operatorId: string;
  readonly speedClass: string;
  /** Time of the last change. Absent: never changed. */
  readonly modifiedMs: number | undefined;
  readonly edits: Edits | undefined;
}

/** The fields of a SIM that operations read, whatever the shape of its record. */
export interface SimFacts {
  readonly imsi: string;
  readonly status: SimStatus;
  readonly speedClass: string;
  readonly subscription: string;
  readonly groupId?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly sessionStatus: { readonly online: boolean; readonly imei?: string };
  readonly terminationEnabled: boolean;
  readonly expiryTime?: number;
  readonly createdTime: number;
  readonly lastModifiedTime: number;
}

/** The record as JSON. */
export function recordText(shape: RecordShape, source: SimSource): string {
  const { simId, imsi, operator, subscriber, others, status } = makeMembers(shape, source);
  if (shape === "svc") return `{"simId":"${simId}",${operator},${subscriber},${others}}`;
  return (
    `{"simId":"${simId}",${operator},${others},"profiles":{"${simId}":{"iccid":"${simId}","primaryImsi":"${imsi}",` +
    `"subscribers":{"${imsi}":{${subscriber},"status":${status}}},` +
    `"arcClientPeerPrivateKey":"${makePeerKey(source)}"}}}`
  );
}

/** The record of the older variant as JSON: identified by its IMSI only, in either shape. */
export function subscriberText(source: SimSource): string {
  const { simId, operator, subscriber, others } = makeMembers("svc", source);
  return `{${operator},${subscriber},${others},"iccid":"${simId}"}`;
}

/** The fields of the shape `soracom`, with those that lie under `profiles` at the top level. */
export function factsOf(source: SimSource): SimFacts {
  const { subscriber, others } = makeMembers("soracom", source);
  return JSON.parse(`{${subscriber},${others}}`) as SimFacts;
}

function makeMembers(shape: RecordShape, source: SimSource): Members {
  const members = seededMembers(shape, source);
  return source.edits === undefined ? members : editedMembers(shape, members, source.edits);
}

type Members = ReturnType<typeof seededMembers>;

/** The members of a record as JSON without braces, split where the shapes differ, and those that `profiles` repeats. */
function seededMembers(shape: RecordShape, source: SimSource) {
  const { seed, place, simId, imsi, operatorId, speedClass } = source;
  const bits = seededBits(seed, place);
  const createdTime = firstCreatedMs + Math.floor((bits / 2 ** 32) * createdSpanMs);
  const site = sites[(bits >>> 8) % sites.length];
  const status = toStatus(bits);
  const groupId = groups[(bits >>> 4) % groups.length];
  const isOnline = status === "active" && (bits & 0x1000) !== 0;
  const card = cards[(bits >>> 24) % cards.length] ?? "uicc";
  const kind =
    shape === "svc" ? '"type":"s1.standard","moduleType":"nano"' : `"type":"${card}","moduleType":"${modules[card]}"`;
  const state =
    shape === "svc"
      ? `"sessionStatus":{"online":${isOnline}},"expiryAction":null`
      : publicMembers(source, { card, status, isOnline, createdTime });
  const noGroup = shape === "svc" ? '"groupId":null,' : "";
  return {
    simId,
    imsi,
    status: `"${status}"`,
    operator: `"operatorId":${JSON.stringify(operatorId)}`,
    subscriber:
      `"imsi":"${imsi}","msisdn":"42300${String(place).padStart(9, "0")}",` +
      `"subscription":"${subscriptions[(bits >>> 20) % subscriptions.length]}"`,
    others:
      `"status":"${status}","speedClass":"${speedClass}",${kind},` +
      (groupId === null ? noGroup : `"groupId":"${groupId}",`) +
      `"tags":{"name":"sim-${place + 1}"${site === undefined ? "" : `,"site":"${site}"`}},` +
      `${state},"createdTime":${createdTime},"lastModifiedTime":${source.modifiedMs ?? createdTime}`,
  };
}

/** Most SIMs are active; a quarter of those that would be in standby are suspended. */
function toStatus(bits: number): SimStatus {
  const status = statuses[bits % statuses.length] ?? "active";
  return status === "standby" && ((bits >>> 3) & 3) === 0 ? "suspended" : status;
}

function editedMembers(shape: RecordShape, members: Members, edits: Edits): Members {
  const { operator, subscriber, others, simId, imsi } = members;
  const edited = Object.entries({ ...(JSON.parse(`{${subscriber},${others}}`) as Edits), ...edits });
  const record: Edits = Object.fromEntries(edited.filter(([, value]) => shape === "svc" || value !== null));
  const { imsi: _, msisdn, subscription, bundles, ...rest } = record;
  return {
    simId,
    imsi,
    operator,
    subscriber: JSON.stringify({ imsi, msisdn, subscription, bundles }).slice(1, -1),
    others: JSON.stringify(rest).slice(1, -1),
    status: JSON.stringify(record["status"] ?? null),
  };
}

/** Resembles a private key of 32 bytes; differs for each SIM. */
function makePeerKey({ seed, place }: SimSource): string {
  for (let i = 0; i < 8; i += 1) peerKey.writeUInt32BE(seededBits(seed ^ 0xa2c, place * 8 + i), i * 4);
  return peerKey.toString("base64");
}

const peerKey = Buffer.alloc(32);

/** The IMEI of the device that holds the SIM at this position: 15 digits with a check digit. */
export function deviceImeiAt(seed: number, place: number): string {
  return withLuhnDigit(String(firstImei + (seededBits(seed ^ 0x1e1, 0) % 1_000_000) * 1_000_000 + place));
}

/**
 * `sessionStatus` and the members that only the shape `soracom` has, without braces: what a platform keeps of a card
 * and its device beyond the interface. A member without a value is omitted.
 */
function publicMembers(
  { seed, place, simId, imsi }: SimSource,
  { card, status, isOnline, createdTime }: { card: string; status: string; isOnline: boolean; createdTime: number },
): string {
  const bits = seededBits(seed ^ 0x50b, place);
  const imei = deviceImeiAt(seed, place);
  const device = `"imei":"${imei}","imsi":"${imsi}"`;
  const hasSerial = card !== "virtual";
  // One text, instead of a list that is joined: a page has a thousand records.
  let text =
    `"sessionStatus":{"online":${isOnline}${isOnline ? `,${device},"lastUpdatedAt":${createdTime + dayMs}` : ""}},` +
    `"terminationEnabled":${(bits & 7) === 0},"activeProfileId":"${simId}",` +
    `"capabilities":{"data":true,"sms":${hasSerial}}`;
  if (status !== "ready") text += `,"previousSession":{${device},"endedTime":${createdTime + dayMs / 2}}`;
  if (isOnline) text += `,"lastLocationUpdateTime":${createdTime + dayMs}`;
  if (hasSerial) text += `,"serialNumber":"SB${1_000_000_001 + place}"`;
  if (card === "euicc") text += `,"otaSerialNumber":"OT${1_000_000_001 + place}"`;
  if (renewalStatuses.includes(status)) text += `,"renewalFeeStatusSetTime":${createdTime + dayMs / 2}`;
  if ((bits >>> 3) % 16 === 0) {
    const expiryTime = firstExpiryMs + ((bits >>> 8) % 1_000) * dayMs;
    text += `,"expiryTime":${expiryTime},"expiryAction":"${expiryActions[(bits >>> 20) % expiryActions.length]}"`;
  }
  if ((bits >>> 12) % 16 === 0) text += `,"imeiLock":{"imei":"${imei}"}`;
  return text;
}

/** Appends the Luhn check digit, as an ICCID has it. Listing a page computes thousands. */
export function withLuhnDigit(digits: string): string {
  let sum = 0;
  for (let i = digits.length - 1, isDoubled = true; i >= 0; i -= 1, isDoubled = !isDoubled) {
    const digit = digits.charCodeAt(i) - 48;
    sum += isDoubled ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return digits + ((10 - (sum % 10)) % 10);
}
