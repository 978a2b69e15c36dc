/**
 * The credentials of one profile, preferred first. An account may have two AuthKeys, so that one can be replaced while
 * the other works. The owner of the list changes it while the client runs; the client reads it at each authentication.
 * An empty or invalid list is ignored and the previous one stays in use.
 */
import { isDeepStrictEqual } from "node:util";
import { ConfigError, messageOf } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import { readBase32 } from "./one-time-code.ts";

/** The three ways to authenticate (interface, section 5); a profile configures exactly one of them. */
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

/** One form, or a source of the current forms, preferred first. */
export type Credentials = CredentialForm | (() => readonly CredentialForm[]);

/**
 * @param emitKept called with the reason if a new list is ignored
 * @returns the current forms: at least one, and the same array as before if nothing changed
 * @throws ConfigError if there are no credentials or an MFA secret is not base32; whatever the source throws
 */
export function credentialList(
  credentials: Credentials,
  emitKept: (message: string) => void,
): () => readonly CredentialForm[] {
  const read = typeof credentials === "function" ? credentials : () => [credentials];
  let last = checked(read());
  return () => {
    let forms: readonly CredentialForm[];
    try {
      forms = checked(read());
    } catch (thrown) {
      emitKept(messageOf(thrown));
      return last;
    }
    if (!isDeepStrictEqual(forms.map(valuesOf), last.map(valuesOf))) last = [...forms];
    return last;
  };
}

function checked(forms: readonly CredentialForm[]): readonly CredentialForm[] {
  if (forms.length === 0) {
    throw new ConfigError([
      { where: "SIMFLEET_AUTH_KEY_ID", message: "there are no credentials to authenticate with" },
    ]);
  }
  for (const form of forms) {
    const secret = mfaSecretOf(form);
    if (secret === undefined || readBase32(secret.reveal()) !== undefined) continue;
    const message = "is not base32 (letters A to Z and digits 2 to 7)";
    throw new ConfigError([{ where: "SIMFLEET_MFA_SECRET", message }]);
  }
  return forms;
}

function valuesOf(form: CredentialForm): readonly unknown[] {
  return Object.values(form).map((value: string | Secret | undefined) =>
    typeof value === "object" ? value.reveal() : value,
  );
}
