/**
 * AuthKeys of the Root user or a sub-user (interface, sections 1 and 2): at most two each; the secret is returned once,
 * at creation. The platform definition describes the operations.
 */
import { z } from "zod";
import { Secret } from "#core/secrets/secret.ts";
import { describedOperation, ignoresAnswer } from "./described.ts";
import { epochSeconds } from "./operation.ts";

const authKeyId = z.string().regex(/^[\x21-\x7e]{1,128}$/);

const listedKey = z
  .looseObject({ authKeyId, createDateTime: epochSeconds, lastUsedDateTime: epochSeconds })
  .transform((record) => ({
    authKeyId: record.authKeyId,
    /** Milliseconds since the Unix epoch, UTC. */
    createdAtMs: record.createDateTime,
    /** Undefined: never used, or not reported. */
    lastUsedAtMs: record.lastUsedDateTime,
  }));

export type AuthKey = Readonly<z.output<typeof listedKey>>;

/** The secret is returned only once. */
const createdKey = z
  .looseObject({ authKeyId, authKey: z.string().min(1).max(4_096) })
  .transform((record) => ({ authKeyId: record.authKeyId, authKey: new Secret(record.authKey) }));

export type CreatedAuthKey = Readonly<z.output<typeof createdKey>>;

/** Lists the AuthKeys of one owner; a secret in a record would be dropped. */
export const listAuthKeys = describedOperation<undefined, AuthKey[]>("listAuthKeys", { output: z.array(listedKey) });

/** Creates an AuthKey. If the response is lost, the key exists but its secret is gone: find it and revoke it. */
export const createAuthKey = describedOperation<undefined, CreatedAuthKey>("createAuthKey", {
  replay: "unsafe",
  output: createdKey,
});

/** Revokes an AuthKey permanently. Revoking twice is rejected, without harm. */
export const revokeAuthKey = describedOperation<Pick<AuthKey, "authKeyId">, undefined>("revokeAuthKey", {
  fillings: { authKeyId: ({ authKeyId: id }) => id },
  ...ignoresAnswer,
});
