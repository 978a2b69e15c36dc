/**
 * The credentials of a profile: exactly one of the interface's three forms (section 5), or none. An AuthKey can have a
 * second one next to it: a user can have two, so that one can be replaced while the other works.
 */
import type { Problem } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { parseAuthKeyText } from "./auth-key-text.ts";
import { placesOf, type SettingId, settingOf } from "../schema.ts";
import type { Values } from "../read-settings.ts";

export interface AuthKeyCredentials {
  readonly kind: "auth-key";
  readonly authKeyId: string;
  readonly authKey: Secret;
}

export type Credentials =
  | AuthKeyCredentials
  | {
      readonly kind: "root";
      readonly email: string;
      readonly password: Secret;
      readonly mfaSecret: Secret | undefined;
    }
  | {
      readonly kind: "sub-user";
      readonly operatorId: string;
      readonly userName: string;
      readonly password: Secret;
      readonly mfaSecret: Secret | undefined;
    };

/** The settings of each form, and those of them that no other form has. */
const forms = {
  "auth-key": { needs: [], shownBy: ["authKeyId", "authKey"] },
  root: { needs: ["email", "password"], shownBy: ["email"] },
  "sub-user": { needs: ["operatorId", "userName", "password"], shownBy: ["operatorId", "userName"] },
} as const satisfies Record<Credentials["kind"], { needs: readonly SettingId[]; shownBy: readonly SettingId[] }>;

/** The ways to give credentials by environment, for messages. */
export const credentialForms =
  "SIMFLEET_AUTH_KEY_ID and SIMFLEET_AUTH_KEY, or SIMFLEET_EMAIL and SIMFLEET_PASSWORD, or SIMFLEET_OPERATOR_ID, SIMFLEET_USER_NAME and SIMFLEET_PASSWORD";

export interface ReadCredentials {
  /** The preferred form first; empty where there is none, or where it is faulty. */
  readonly forms: readonly Credentials[];
  /** Files that hold their secrets. */
  readonly files: readonly string[];
}

/** What takes the faults, and what works but not as it may have been meant. */
interface Report {
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

/** Puts the credentials of one profile together. */
export function readCredentials(values: Values, profile: string, report: Report): ReadCredentials {
  const first = readFirst(values, profile, report);
  const second = readSecond(values, profile, { ...report, isBesideAuthKey: first?.kind === "auth-key" });
  const files = (["authKey", "authKey2", "password", "mfaSecret"] as const).flatMap((id) => values.fileOf(id) ?? []);
  if (first === undefined) return { forms: [], files };
  if (second === undefined) return { forms: [first], files };
  if (first.kind === "auth-key" && first.authKeyId === second.authKeyId) {
    const where = `profiles.${profile}.credentials.second`;
    report.warnings.push({ where, message: `is the AuthKey ${first.authKeyId}, as is the first. One is used.` });
    forgetCredentials(second);
    return { forms: [first], files };
  }
  return { forms: [first, second], files };
}

/** Ends the scrubber's watch over secrets that are replaced. */
export function forgetCredentials(form: Credentials): void {
  if (form.kind === "auth-key") form.authKey.forget();
  else {
    form.password.forget();
    form.mfaSecret?.forget();
  }
}

function readFirst(values: Values, profile: string, report: Report): Credentials | undefined {
  const { problems } = report;
  const where = `profiles.${profile}.credentials`;
  const given = (ids: readonly SettingId[]) => ids.flatMap((id) => values.whereOf(id) ?? []);
  const kinds = (Object.keys(forms) as Credentials["kind"][]).filter((kind) => given(forms[kind].shownBy).length > 0);
  const [kind] = kinds;
  if (kinds.length > 1) {
    const names = kinds.map((one) => given(forms[one].shownBy).join(" and "));
    problems.push({ where, message: `hold more than one form: ${names.join("; ")}. Keep one of them.` });
    return undefined;
  }
  const strays = given(["password", "mfaSecret"]);
  if (kind === undefined) {
    for (const stray of strays) {
      problems.push({ where: stray, message: "belongs to an e-mail address, or to an operator ID and a user name." });
    }
    return undefined;
  }
  if (kind === "auth-key") {
    for (const stray of strays)
      problems.push({ where: stray, message: "cannot be combined with an AuthKey. Remove one of them." });
    return readAuthKey(values, { id: "authKeyId", secret: "authKey" }, { ...report, profile });
  }
  for (const id of forms[kind].needs) {
    if (values.whereOf(id) !== undefined) continue;
    problems.push(missing(values, id, { profile, beside: forms[kind].shownBy }));
  }
  return assemble(values, kind);
}

function readSecond(
  values: Values,
  profile: string,
  report: Report & { readonly isBesideAuthKey: boolean },
): AuthKeyCredentials | undefined {
  const where = values.whereOf("authKeyId2") ?? values.whereOf("authKey2");
  if (where === undefined) return undefined;
  const second = readAuthKey(values, { id: "authKeyId2", secret: "authKey2" }, { ...report, profile });
  if (report.isBesideAuthKey) return second;
  // A first one that is faulty has been reported.
  if (values.whereOf("authKeyId") === undefined && values.whereOf("authKey") === undefined) {
    report.problems.push({ where, message: "is the second AuthKey of a profile without a first one." });
  }
  return undefined;
}

/** One AuthKey: id and secret each by its own setting, or both by that of the secret. */
function readAuthKey(
  values: Values,
  ids: { readonly id: "authKeyId" | "authKeyId2"; readonly secret: "authKey" | "authKey2" },
  { problems, warnings, profile }: Report & { readonly profile: string },
): AuthKeyCredentials | undefined {
  const configuredId = values.get(ids.id);
  const whereOfId = values.whereOf(ids.id);
  const whereOfSecret = values.whereOf(ids.secret);
  if (whereOfSecret === undefined) {
    problems.push(missing(values, ids.secret, { profile, beside: [ids.id] }));
    return undefined;
  }
  const written = values.getSecret(ids.secret);
  if (written === undefined) return undefined;
  const read = parseAuthKeyText(written.reveal());
  if (read?.authKeyId === undefined) {
    if (whereOfId === undefined) problems.push(missing(values, ids.id, { profile, beside: [ids.secret] }));
    return configuredId === undefined ? undefined : { kind: "auth-key", authKeyId: configuredId, authKey: written };
  }
  const { authKeyId, authKey } = read;
  if (whereOfId !== undefined) {
    const message = `does not count, since ${whereOfSecret} names its AuthKey itself. Take it out.`;
    warnings.push({ where: whereOfId, message });
  }
  written.forget();
  return { kind: "auth-key", authKeyId, authKey: new Secret(authKey) };
}

function missing(
  values: Values,
  id: SettingId,
  { profile, beside }: { profile: string; beside: readonly SettingId[] },
): Problem {
  const given = beside.flatMap((one) => values.whereOf(one) ?? []).join(" and ");
  return { where: pathOf(id, profile), message: `is missing beside ${given}. Set it, or ${variablesOf(id)}.` };
}

function assemble(values: Values, kind: "root" | "sub-user"): Credentials | undefined {
  const password = values.getSecret("password");
  const mfaSecret = values.getSecret("mfaSecret");
  if (kind === "root") {
    const email = values.get("email");
    return email !== undefined && password ? { kind, email, password, mfaSecret } : undefined;
  }
  const operatorId = values.get("operatorId");
  const userName = values.get("userName");
  if (operatorId === undefined || userName === undefined || !password) return undefined;
  return { kind, operatorId, userName, password, mfaSecret };
}

function pathOf(id: SettingId, profile: string): string {
  return settingOf(id).path.replace("<name>", profile);
}

function variablesOf(id: SettingId): string {
  return placesOf(settingOf(id))
    .map((place) => place.variable)
    .join(" or ");
}
