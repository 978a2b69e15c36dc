/** Auth:auth, the only operation without a pair; rate-limited per caller address (interface, sections 4, 5 and 8). */
import { z } from "zod";
import { Secret } from "#core/secrets/secret.ts";
import type { Credentials } from "#fleet/credentials.ts";
import type { Operation } from "./operation.ts";

export interface AuthInput {
  readonly form: Credentials;
  /** One-time code of six digits, if the form has an MFA secret. */
  readonly oneTimeCode?: string | undefined;
  /** The lifetime to request, if the platform definition names the field for it. */
  readonly ttl?: { readonly field: string; readonly seconds: number } | undefined;
}

/** Both values go into headers: visible ASCII only, and bounded. */
export const headerValue = z.string().regex(/^[\x21-\x7e]{1,16000}$/);

const output = z
  .looseObject({
    operatorId: z.string().min(1),
    userName: z.string().nullish(),
    apiKey: headerValue,
    token: headerValue,
  })
  .transform((record) => ({
    operatorId: record.operatorId,
    /** Present for a sub-user. */
    userName: record.userName ?? undefined,
    apiKey: new Secret(record.apiKey),
    token: new Secret(record.token),
  }));

export type AuthOutput = Readonly<z.output<typeof output>>;

export const authOperation: Operation<AuthInput, AuthOutput> = {
  id: "auth",
  method: "POST",
  path: "/v1/auth",
  quota: { perIp: "Auth-auth" },
  authenticated: false,
  replay: "safe",
  successStatuses: [200],
  body: ({ form, oneTimeCode, ttl }) => ({
    ...toVariant(form),
    ...(oneTimeCode === undefined ? {} : { mfaOTPCode: oneTimeCode }),
    ...(ttl === undefined ? {} : { [ttl.field]: ttl.seconds }),
  }),
  output,
};

function toVariant(form: Credentials): Record<string, string> {
  switch (form.kind) {
    case "auth-key":
      return { authKeyId: form.authKeyId, authKey: form.authKey.reveal() };
    case "root":
      return { email: form.email, password: form.password.reveal() };
    case "sub-user":
      return {
        operatorId: form.operatorId,
        userName: form.userName,
        password: form.password.reveal(),
      };
  }
}
