/** The credentials of a profile: exactly one of the interface's three forms (section 5), or none at all. */
import type { Problem } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import { placesOf, type SettingId, settingOf } from "./schema.ts";
import type { Values } from "./values.ts";

export type Credentials =
  | { readonly kind: "auth-key"; readonly authKeyId: string; readonly authKey: Secret }
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
  "auth-key": { needs: ["authKeyId", "authKey"], shownBy: ["authKeyId", "authKey"] },
  root: { needs: ["email", "password"], shownBy: ["email"] },
  "sub-user": { needs: ["operatorId", "userName", "password"], shownBy: ["operatorId", "userName"] },
} as const satisfies Record<Credentials["kind"], { needs: readonly SettingId[]; shownBy: readonly SettingId[] }>;

/** The ways to give credentials by environment, for messages. */
export const credentialForms =
  "SIMFLEET_AUTH_KEY_ID and SIMFLEET_AUTH_KEY, or SIMFLEET_EMAIL and SIMFLEET_PASSWORD, or SIMFLEET_OPERATOR_ID, SIMFLEET_USER_NAME and SIMFLEET_PASSWORD";

/**
 * Puts the credentials of one profile together.
 * @returns undefined where there are none, or where they are faulty, which `problems` then says
 */
export function readCredentials(values: Values, profile: string, problems: Problem[]): Credentials | undefined {
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
      problems.push({ where: stray, message: "does not go with an AuthKey. Drop one of them." });
  }
  for (const id of forms[kind].needs) {
    if (values.whereOf(id) !== undefined) continue;
    const beside = given(forms[kind].shownBy).join(" and ");
    problems.push({
      where: pathOf(id, profile),
      message: `is missing beside ${beside}. Set it, or ${variablesOf(id)}.`,
    });
  }
  return assemble(values, kind);
}

function assemble(values: Values, kind: Credentials["kind"]): Credentials | undefined {
  if (kind === "auth-key") {
    const authKeyId = values.get("authKeyId");
    const authKey = values.getSecret("authKey");
    return authKeyId !== undefined && authKey ? { kind, authKeyId, authKey } : undefined;
  }
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
