/**
 * The credentials of one profile, the preferred ones first. An account may hold two AuthKeys so that one can be replaced
 * while the other works; the owner of the list changes it while the client runs, and the client looks at it whenever it
 * authenticates. A list that is empty or faulty is not taken up: the one before it stays.
 */
import { ConfigError, messageOf } from "#core/errors.ts";
import { checkCredentialForm, type CredentialForm } from "./credential-form.ts";

/** One form; or what gives the present forms, the preferred one first, with the same Secrets while nothing changed. */
export type Credentials = CredentialForm | (() => readonly CredentialForm[]) | { current(): readonly CredentialForm[] };

export class CredentialList {
  readonly #emitKept: (message: string) => void;
  #read: () => readonly CredentialForm[];
  #last: readonly CredentialForm[];

  /**
   * @param tellKept told why a new list was not taken up
   * @throws ConfigError when there are no credentials, or an MFA secret is not base32; what the list's owner throws
   */
  constructor(credentials: Credentials, emitKept: (message: string) => void) {
    this.#emitKept = emitKept;
    this.#read = readerOf(credentials);
    this.#last = checked(this.#read());
  }

  /**
   * Takes other credentials of the same account.
   * @throws as the constructor; the old credentials then stay
   */
  replace(credentials: Credentials): void {
    const read = readerOf(credentials);
    this.#last = checked(read());
    this.#read = read;
  }

  /** The present forms: at least one, and the same array as before where nothing changed. */
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
