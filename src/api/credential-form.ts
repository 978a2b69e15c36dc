/** The three ways to authenticate (interface, section 5); exactly one of them is configured for a profile. */
import { ConfigError } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import { readBase32 } from "./one-time-code.ts";

export type CredentialForm =
  | { readonly kind: "auth-key"; readonly authKeyId: string; readonly authKey: Secret }
  | {
      readonly kind: "root";
      readonly email: string;
      readonly password: Secret;
      /** Base32, as shown beside the QR code when MFA was switched on. */
      readonly mfaSecret?: Secret | undefined;
    }
  | {
      readonly kind: "sub-user";
      readonly operatorId: string;
      readonly userName: string;
      readonly password: Secret;
      readonly mfaSecret?: Secret | undefined;
    };

/** The key that one-time codes are made from, or undefined where the form has none. */
export function mfaSecretOf(form: CredentialForm): Secret | undefined {
  return form.kind === "auth-key" ? undefined : form.mfaSecret;
}

/**
 * Checks what can be checked without the platform.
 * @throws ConfigError when an MFA secret is not base32
 */
export function checkCredentialForm(form: CredentialForm): void {
  const secret = mfaSecretOf(form);
  if (secret === undefined || readBase32(secret.reveal()) !== undefined) return;
  throw new ConfigError([
    { where: "SIMFLEET_MFA_SECRET", message: "is not base32 (letters A to Z and digits 2 to 7)" },
  ]);
}

/** The variables that a refused form came from, for messages. */
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
