/**
 * The credentials of a profile: exactly one of the interface's three forms (section 5), or none. An AuthKey can have a
 * second one next to it: a user can have two, so that one can be replaced while the other works. While a process runs,
 * changed files are read again (`watchCredentials`).
 */
import { statSync } from "node:fs";
import { messageOf } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import { every, secondMs } from "#core/time.ts";
import { type AuthKeyCredentials, type Credentials, type Login, areSameForms, isSameForm } from "#fleet/credentials.ts";
import type { Report } from "../report.ts";
import { parseAuthKeyText, profileSection, type ProfileSettings } from "../sections/profiles.ts";
import { secretOf, variablesOf } from "../setting.ts";

type Written = ProfileSettings["credentials"];

/** The settings that only one form has. The last two forms need all of theirs, and a password. */
const ownKeys = {
  "auth-key": ["authKeyId", "authKey"],
  root: ["email"],
  "sub-user": ["operatorId", "userName"],
} as const satisfies Record<Credentials["kind"], readonly (keyof Written)[]>;

/** The ways to give credentials by environment, for messages. */
export const credentialForms =
  "SIMFLEET_AUTH_KEY_ID and SIMFLEET_AUTH_KEY, or SIMFLEET_EMAIL and SIMFLEET_PASSWORD, or SIMFLEET_OPERATOR_ID, SIMFLEET_USER_NAME and SIMFLEET_PASSWORD";

/**
 * Puts the credentials of one profile together.
 * @param at path of the profile
 * @returns `forms`: the preferred one first; empty if there is none, or it is faulty. `files` hold their secrets
 */
export function readCredentials(written: Written, at: string, report: Report) {
  const where = `${at}.credentials`;
  const first = readFirst(written, where, report);
  const second = readSecond(written, where, first?.kind, report);
  const secrets = ["authKey", "second.authKey", "password", "mfaSecret"];
  const files = secrets.flatMap((key) => report.placeOf(`${where}.${key}`)?.file ?? []);
  const isTwice = second !== undefined && first?.kind === "auth-key" && first.authKeyId === second.authKeyId;
  if (isTwice) {
    report.warn(`${where}.second`, `is the AuthKey ${first.authKeyId}, as is the first. One is used.`);
    forgetCredentials(second);
  }
  const forms = [first, isTwice ? undefined : second].filter((form) => form !== undefined);
  return { forms, files };
}

/** Ends the scrubber's watch over secrets that are replaced. */
export function forgetCredentials(form: Credentials): void {
  for (const part of Object.values(form)) if (part instanceof Secret) part.forget();
}

function readFirst(written: Written, where: string, report: Report): Credentials | undefined {
  const isGiven = (key: string): boolean => report.isGiven(`${where}.${key}`);
  const placesOf = (keys: readonly string[]) => keys.flatMap((key) => report.placeOf(`${where}.${key}`)?.where ?? []);
  const kinds = (Object.keys(ownKeys) as Credentials["kind"][]).filter((kind) => ownKeys[kind].some(isGiven));
  const [kind] = kinds;
  if (kinds.length > 1) {
    const names = kinds.map((one) => placesOf(ownKeys[one]).join(" and "));
    report.fault(where, `contain more than one form: ${names.join("; ")}. Keep one of them.`);
    return undefined;
  }
  const strays = ["password", "mfaSecret"].filter(isGiven);
  if (kind === undefined || kind === "auth-key") {
    const message =
      kind === undefined
        ? "belongs to an email address, or to an operator ID and a user name."
        : "cannot be combined with an AuthKey. Remove one of them.";
    for (const stray of strays) report.fault(`${where}.${stray}`, message);
    return kind === undefined ? undefined : readAuthKey(written, where, report);
  }
  for (const key of [...ownKeys[kind], "password"]) {
    if (!isGiven(key)) reportMissing(`${where}.${key}`, placesOf(ownKeys[kind]), report);
  }
  const { email, operatorId, userName, password, mfaSecret } = written;
  if (password === undefined) return undefined;
  const secrets = (): Login => ({ password: new Secret(password), mfaSecret: secretOf(mfaSecret) });
  if (kind === "root") return email === undefined ? undefined : { kind, email, ...secrets() };
  return operatorId === undefined || userName === undefined ? undefined : { kind, operatorId, userName, ...secrets() };
}

function readSecond(written: Written, where: string, first: Credentials["kind"] | undefined, report: Report) {
  const at = `${where}.second`;
  const given = [`${at}.authKeyId`, `${at}.authKey`].find((path) => report.isGiven(path));
  if (given === undefined) return undefined;
  const second = readAuthKey(written.second, at, report);
  if (first === "auth-key") return second;
  // A first one that is faulty has been reported.
  if (!report.isGiven(`${where}.authKeyId`) && !report.isGiven(`${where}.authKey`)) {
    report.fault(given, "is the second AuthKey of a profile without a first one.");
  }
  return undefined;
}

/** One AuthKey: id and secret each by its own setting, or both by that of the secret. */
function readAuthKey(written: Written["second"], at: string, report: Report): AuthKeyCredentials | undefined {
  const id = `${at}.authKeyId`;
  const key = `${at}.authKey`;
  const whereOfId = report.placeOf(id)?.where;
  const whereOfKey = report.placeOf(key)?.where;
  if (whereOfKey === undefined) {
    reportMissing(key, [whereOfId ?? id], report);
    return undefined;
  }
  const read = written.authKey === undefined ? undefined : parseAuthKeyText(written.authKey);
  if (read === undefined) return undefined;
  if (read.authKeyId === undefined) {
    if (whereOfId === undefined) reportMissing(id, [whereOfKey], report);
  } else if (whereOfId !== undefined) {
    report.warn(id, `does not count, since ${whereOfKey} names its AuthKey itself. Remove it.`);
  }
  const authKeyId = read.authKeyId ?? written.authKeyId;
  return authKeyId === undefined ? undefined : { kind: "auth-key", authKeyId, authKey: new Secret(read.authKey) };
}

/** @param path of the setting, such as `profiles.default.credentials.password` */
function reportMissing(path: string, beside: readonly string[], report: Report): void {
  const variables = variablesOf(profileSection, path.replace(/^profiles\.[^.]*\./, ""));
  report.fault(path, `is missing next to ${beside.join(" and ")}. Set it, or ${variables.join(" or ")}.`);
}

interface Watched {
  readonly credentials: readonly Credentials[];
  readonly secrets: { readonly files: readonly string[]; readonly read: () => readonly Credentials[] };
}

interface Listener {
  /** Other credentials are in place. */
  reloaded(): void;
  /** A change was not loaded; the reason names the file and never its content. */
  kept(reason: string): void;
}

export type CredentialWatch = ReturnType<typeof watchCredentials>;

/**
 * The credentials of one profile while a process runs: as configured, until one of their files changes. A change is
 * applied completely or not at all: if any part is invalid, the previous credentials stay. Replaced credentials are
 * kept as a fallback until the platform has accepted the new ones, so that a wrong secret in a valid file does not lock
 * out the profile. The files are looked at every second: unlike notifications, that works on every file system, and
 * sees a link that is switched anywhere on the path, as mounted secrets do.
 */
export function watchCredentials({ credentials, secrets }: Watched, listener: Listener) {
  const { files } = secrets;
  /** The files as they were at the last look. */
  let seen = readFingerprint(files);
  let current: readonly Credentials[] = credentials;
  /** Seen to be good, or configured at the start; behind the current ones until those are. */
  let fallback: readonly Credentials[] = [];
  /** Known to the scrubber for one more change: calls with them may still be out. */
  let retired: readonly Credentials[] = [];
  let isProven = true;

  const retire = (forms: readonly Credentials[]): void => {
    if (forms.length === 0) return;
    for (const form of retired) forgetCredentials(form);
    retired = forms;
  };
  const takeUp = (next: readonly Credentials[]): void => {
    if (areSameForms(next, current)) {
      for (const form of next) forgetCredentials(form);
      return;
    }
    const [before, dropped] = isProven ? [current, []] : [fallback, current];
    const isAgain = (form: Credentials): boolean => next.some((one) => isSameForm(one, form));
    fallback = before.filter((form) => !isAgain(form));
    retire([...dropped, ...before.filter(isAgain)]);
    current = next;
    isProven = false;
    listener.reloaded();
  };
  /** Reloads the files if one is another than at the last look, or may now be read, or no longer. */
  const poll = (): void => {
    const now = readFingerprint(files);
    if (now === seen) return;
    seen = now;
    let next: readonly Credentials[];
    try {
      next = secrets.read();
    } catch (thrown) {
      listener.kept(messageOf(thrown));
      return;
    }
    takeUp(next);
  };
  return {
    poll,
    stop: files.length === 0 ? () => undefined : every(secondMs, poll),
    /** Credentials, the preferred ones first. */
    forms: (): readonly Credentials[] => [...current, ...fallback],
    /** Says that the platform took these: where they are of the current ones, the previous ones are released. */
    proven(form: Credentials): void {
      if (isProven || !current.some((one) => isSameForm(one, form))) return;
      isProven = true;
      retire(fallback);
      fallback = [];
    },
  };
}

function readFingerprint(files: readonly string[]): string {
  const parts = files.map((file) => {
    try {
      const { dev, ino, mode, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
      return [dev, ino, mode, size, mtimeNs, ctimeNs].join(" ");
    } catch (thrown) {
      return String((thrown as NodeJS.ErrnoException).code);
    }
  });
  return parts.join("\n");
}
