/** The three ways to authenticate (interface, section 5). */
import { Secret } from "#core/secrets/secret.ts";

export interface AuthKeyCredentials {
  readonly kind: "auth-key";
  readonly authKeyId: string;
  readonly authKey: Secret;
}

export interface Login {
  readonly password: Secret;
  /** Base32, as shown next to the QR code when MFA was enabled. */
  readonly mfaSecret?: Secret | undefined;
}

export type Credentials =
  | AuthKeyCredentials
  | (Login & { readonly kind: "root"; readonly email: string })
  | (Login & { readonly kind: "sub-user"; readonly operatorId: string; readonly userName: string });

export function isSameForm(one: Credentials, other: Credentials | undefined): boolean {
  return other !== undefined && identityOf(one) === identityOf(other);
}

export function areSameForms(some: readonly Credentials[], others: readonly Credentials[]): boolean {
  return some.length === others.length && some.every((form, i) => isSameForm(form, others[i]));
}

/** The form with its secrets, and what it is about; forms of one kind have their parts in one order. */
function identityOf(form: Credentials): string {
  const parts = Object.values<string | Secret | undefined>({ ...form });
  return JSON.stringify(parts.map((part) => (part instanceof Secret ? part.reveal() : part)));
}
