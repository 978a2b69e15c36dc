/** The events of AuthKeys. */
import type { Events } from "#events/event.ts";

const ofAuthKey = { authKeyId: "the AuthKey", cause: "the rotation", by: "who requested the rotation" } as const;

export const events = {
  "authkey.rejected": {
    when: "The platform rejected a configured AuthKey; the second one is used, if there is one. Emitted once by each process until the AuthKey is accepted.",
    sentence: "The platform rejected the AuthKey {authKeyId}[: {reason}]",
    needsAttention: true,
    fields: { authKeyId: "the AuthKey", worker: "the process", reason: "the platform's message" },
  },
  "authkey.created": {
    when: "A rotation created an AuthKey and stored its secret encrypted.",
    sentence: "The AuthKey {authKeyId} was created[ by {by}]",
    fields: ofAuthKey,
  },
  "authkey.verified": {
    when: "The platform accepted the new AuthKey of a rotation.",
    sentence: "The platform accepted the AuthKey {authKeyId}",
    fields: ofAuthKey,
  },
  "authkey.delivered": {
    when: "A sink accepted the new AuthKey of a rotation.",
    sentence: "The AuthKey {authKeyId} is in {sink}",
    fields: { ...ofAuthKey, sink: "kind and place of the sink" },
  },
  "authkey.revoked": {
    when: "A rotation revoked an AuthKey that no live process uses.",
    sentence: "The AuthKey {authKeyId} was revoked[: {reason}]",
    fields: {
      ...ofAuthKey,
      reason:
        "`rotated`: a new one replaced it; `replaced`: a user chose it to make room; `lost`: the response with its secret was lost; `taken-back`: the rotation failed and was rolled back",
    },
  },
  "authkey.rotated": {
    when: "A rotation is done: the new AuthKey is in use and the old one is revoked.",
    sentence: "The AuthKey {oldId} was replaced by {authKeyId}",
    fields: { ...ofAuthKey, authKeyId: "the new AuthKey", oldId: "the old one" },
  },
  "authkey.failed": {
    when: "A rotation failed and was rolled back: the old AuthKey stays in use.",
    sentence: "The rotation of the AuthKey[ {authKeyId}] failed[: {reason}]",
    advice: "The old AuthKey stays in use.",
    needsAttention: true,
    fields: { ...ofAuthKey, authKeyId: "the AuthKey that stays", reason: "why" },
  },
  "authkey.quarantined": {
    when: "Three workers crashed while processing the same step of a rotation. The rotation is stopped until someone resumes it with `simfleet authkeys rotate`.",
    sentence: "The rotation of the AuthKey {authKeyId} was stopped[: {reason}]",
    needsAttention: true,
    fields: { ...ofAuthKey, authKeyId: "the AuthKey to be replaced", reason: "why" },
  },
} as const satisfies Events;

export const eventKinds = { authkey: "AuthKeys" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}
