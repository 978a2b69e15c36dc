/** The three ways to authenticate (interface, section 5); a profile configures exactly one of them. */
import { ConfigError } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import { readBase32 } from "./one-time-code.ts";

export type CredentialForm =
  | { readonly kind: "auth-key"; readonly authKeyId: string; readonly authKey: Secret }
  | {
      readonly kind: "root";
      readonly email: string;
      readonly password: Secret;
      /** Base32, as shown next to the QR code when MFA was enabled. */
      readonly mfaSecret?: Secret | undefined;
    }
  | {
      readonly kind: "sub-user";
      readonly operatorId: string;
      readonly userName: string;
      readonly password: Secret;
      readonly mfaSecret?: Secret | undefined;
    };

/** The key for one-time codes, or undefined if the form has none. */
export function mfaSecretOf(form: CredentialForm): Secret | undefined {
  return form.kind === "auth-key" ? undefined : form.mfaSecret;
}

/**
 * Validates what can be validated without the platform.
 * @throws ConfigError if an MFA secret is not base32
 */
export function checkCredentialForm(form: CredentialForm): void {
  const secret = mfaSecretOf(form);
  if (secret === undefined || readBase32(secret.reveal()) !== undefined) return;
  throw new ConfigError([
    { where: "SIMFLEET_MFA_SECRET", message: "is not base32 (letters A to Z and digits 2 to 7)" },
  ]);
}

/** The variables that configure a rejected form, for messages. */
export function settingsOf(form: CredentialForm): string {
  switch (form.kind) {
    case "auth-key":
      return "SIMFLEET_AUTH_KEY_ID and SIMFLEET_AUTH_KEY";
    case "root":
      return "SIMFLEET_EMAIL, SIMFLEET_PASSWORD and, with MFA, SIMFLEET_MFA_SECRET";
    case "sub-user":
      return "SIMFLEET_OPERATOR_ID, SIMFLEET_USER_NAME, SIMFLEET_PASSWORD and, with MFA, SIMFLEET_MFA_SECRET";
  }
}
