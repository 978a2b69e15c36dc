/**
 * The members that a SIM record has only in the shape `soracom`: what a deployment keeps of a card and its device beyond
 * the interface. Generated from the seed as JSON text, like the rest of the record; a member without a value is omitted.
 */
import { seededBits } from "../seeded.ts";
import { withImeiDigit } from "./sim-ids.ts";

/** What the other members of a record already say. */
export interface CardFacts {
  readonly simId: string;
  readonly imsi: string;
  readonly card: string;
  readonly status: string;
  readonly isOnline: boolean;
  readonly createdTime: number;
}

export const dayMs = 86_400_000;

/** The first 14 digits. */
const firstImei = 35_000_000_000_000;
const expiryActions = ["doNothing", "deleteSession", "deactivate", "suspend"] as const;
const firstExpiryMs = Date.UTC(2030, 0, 1);

/** The statuses whose beginning counts for the renewal fee. */
const renewalStatuses = ["ready", "standby", "suspended"];

/** The IMEI of the device that holds the SIM at this position: 15 digits with a check digit. */
export function deviceImeiAt(seed: number, place: number): string {
  return withImeiDigit(String(firstImei + (seededBits(seed ^ 0x1e1, 0) % 1_000_000) * 1_000_000 + place));
}

/** `sessionStatus` and the members that only this shape has, without braces. */
export function publicMembers(seed: number, place: number, facts: CardFacts): string {
  const { simId, imsi, card, status, isOnline, createdTime } = facts;
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
