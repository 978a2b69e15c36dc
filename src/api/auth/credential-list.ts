/**
 * The credentials of one profile, preferred first. An account may have two AuthKeys, so that one can be replaced while
 * the other works. The owner of the list changes it while the client runs; the client reads it at each authentication.
 * An empty or invalid list is ignored and the previous one stays in use.
 */
import { ConfigError, messageOf } from "#core/errors.ts";
import { checkCredentialForm, type CredentialForm } from "./credential-form.ts";

/** One form, or a source of the current forms, preferred first, that returns the same Secrets while nothing changed. */
export type Credentials = CredentialForm | (() => readonly CredentialForm[]) | { current(): readonly CredentialForm[] };

export class CredentialList {
  readonly #emitKept: (message: string) => void;
  #read: () => readonly CredentialForm[];
  #last: readonly CredentialForm[];

  /**
   * @param emitKept called with the reason if a new list is ignored
   * @throws ConfigError if there are no credentials or an MFA secret is not base32; whatever the source throws
   */
  constructor(credentials: Credentials, emitKept: (message: string) => void) {
    this.#emitKept = emitKept;
    this.#read = readerOf(credentials);
    this.#last = checked(this.#read());
  }

  /**
   * Replaces the credentials with others of the same account.
   * @throws as the constructor; the old credentials then stay in use
   */
  replace(credentials: Credentials): void {
    const read = readerOf(credentials);
    this.#last = checked(read());
    this.#read = read;
  }

  /** The current forms: at least one, and the same array as before if nothing changed. */
  current(): readonly CredentialForm[] {
    let forms: readonly CredentialForm[];
    try {
      forms = checked(this.#read());
    } catch (thrown) {
      this.#emitKept(messageOf(thrown));
      return this.#last;
    }
    const isSame = forms.length === this.#last.length && forms.every((form, i) => isSameForm(form, this.#last[i]));
    if (!isSame) this.#last = [...forms];
    return this.#last;
  }
}

function readerOf(credentials: Credentials): () => readonly CredentialForm[] {
  if (typeof credentials === "function") return credentials;
  if ("current" in credentials) return () => credentials.current();
  return () => [credentials];
}

function checked(forms: readonly CredentialForm[]): readonly CredentialForm[] {
  if (forms.length === 0) {
    throw new ConfigError([
      { where: "SIMFLEET_AUTH_KEY_ID", message: "there are no credentials to authenticate with" },
    ]);
  }
  for (const form of forms) checkCredentialForm(form);
  return forms;
}

function isSameForm(one: CredentialForm, other: CredentialForm | undefined): boolean {
  return other !== undefined && valuesOf(one).every((value, i) => value === valuesOf(other)[i]);
}

function valuesOf(form: CredentialForm): readonly (string | undefined)[] {
  switch (form.kind) {
    case "auth-key":
      return [form.kind, form.authKeyId, form.authKey.reveal()];
    case "root":
      return [form.kind, form.email, form.password.reveal(), form.mfaSecret?.reveal()];
    case "sub-user":
      return [form.kind, form.operatorId, form.userName, form.password.reveal(), form.mfaSecret?.reveal()];
  }
}
