/** The section `profiles`: accounts of the platform, each with its credentials. */
import { z } from "zod";
import { jsonIn } from "#core/json.ts";
import { group, secret, section, setting } from "../setting.ts";
import { expecting, oneOf, text } from "../value-types.ts";

export const languageSetting = oneOf(["en", "ja"]);

const line = z.string().regex(/^[^\0\r\n]+$/);
const both = z.strictObject({ authKeyId: line, authKey: line });

/**
 * Parses an AuthKey from text: its secret alone, or a JSON object with id and secret. With the object, replacing the
 * file changes both at once, so an id is never combined with the secret of another AuthKey.
 * @returns without an ID where the text is the secret alone; undefined where it is neither: what starts with a brace is
 *   never taken for a secret
 */
export function parseAuthKeyText(written: string) {
  if (!written.trimStart().startsWith("{")) {
    return line.safeParse(written).success ? { authKeyId: undefined, authKey: written } : undefined;
  }
  return both.safeParse(jsonIn(written)).data;
}

const authKeyText = expecting(
  "text, or a JSON object of `authKeyId` and `authKey` and nothing else",
  z.string().refine((written) => parseAuthKeyText(written) !== undefined),
);

export const profileSection = group({
  coverage: setting(
    oneOf(["g", "jp"]).optional(),
    "Coverage of the account: `g` Global, `jp` Japan; decides which base address is called.",
    {
      variable: "SIMFLEET_COVERAGE",
      fallback: "from the verified token, or the only base address there is",
    },
  ),
  wording: setting(
    oneOf(["sims", "subscribers"]).default("sims"),
    "`subscribers` for the platform's earlier wording, in which files name SIMs by `imsi`.",
    { variable: "SIMFLEET_WORDING" },
  ),
  language: setting(languageSetting.optional(), "Language of the platform's messages for this profile.", {
    variable: "SIMFLEET_LANGUAGE",
    fallback: "`language`",
  }),
  credentials: group({
    authKeyId: setting(text().optional(), "ID of an AuthKey; not needed if its file contains both as a JSON object.", {
      variable: "SIMFLEET_AUTH_KEY_ID",
    }),
    ...secret("authKey", authKeyText, {
      variable: "SIMFLEET_AUTH_KEY",
      description: "Secret of the AuthKey, or ID and secret together.",
    }),
    second: group({
      authKeyId: setting(text().optional(), "ID of a second AuthKey of the same user, used if the first is rejected.", {
        variable: "SIMFLEET_AUTH_KEY_ID_2",
      }),
      ...secret("authKey", authKeyText, {
        variable: "SIMFLEET_AUTH_KEY_2",
        description: "Secret of the second AuthKey, or ID and secret together.",
      }),
    }),
    email: setting(text("an email address", /^[^\s@]+@[^\s@]+$/).optional(), "Email address of the Root user.", {
      variable: "SIMFLEET_EMAIL",
    }),
    operatorId: setting(text().optional(), "Operator ID of a sub-user.", { variable: "SIMFLEET_OPERATOR_ID" }),
    userName: setting(text().optional(), "Name of the sub-user.", { variable: "SIMFLEET_USER_NAME" }),
    ...secret("password", text(), {
      variable: "SIMFLEET_PASSWORD",
      description: "Password of the Root user or sub-user.",
    }),
    ...secret("mfaSecret", text("base32 (letters A to Z, digits 2 to 7)", /^[A-Za-z2-7][A-Za-z2-7 -]*=*$/), {
      variable: "SIMFLEET_MFA_SECRET",
      description: "Secret for one-time codes, where the user has MFA.",
    }),
  }),
});

export const profilesSection = section(profileSection, "Accounts of the platform, by a name of your choice.", {
  pattern: /^[A-Za-z0-9_-]{1,64}$/,
  nameRule: "The name of a profile may have letters, digits, - and _.",
});

export type ProfileSettings = z.output<typeof profileSection>;
