/**
 * Issues a new token for a valid pair, if the deployment has an operation for it. This spends a quota of the account,
 * not the limit on authentications per caller address (interface, section 8, rule 3). The API key does not change.
 */
import { z } from "zod";
import { Secret } from "#core/secret.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import { headerValue } from "./auth.ts";
import { described } from "./described.ts";
import type { Operation } from "./operation.ts";

export interface RenewTokenInput {
  readonly operatorId: string;
  /** Sent if the deployment names the field for it. */
  readonly ttlSeconds: number;
}

export function renewToken(description: DeploymentOperation): Operation<RenewTokenInput, { readonly token: Secret }> {
  const { ttlField } = description;
  return {
    ...described<RenewTokenInput>("renewToken", description, { operatorId: (input) => input.operatorId }),
    replay: "safe",
    body: ({ ttlSeconds }) => (ttlField === undefined ? {} : { [ttlField]: ttlSeconds }),
    output: z.looseObject({ token: headerValue }).transform((record) => ({ token: new Secret(record.token) })),
  };
}
