/** AuthKeys and their rotation. */
import type { Feature } from "#cli/feature.ts";
import { authKeyEndpoints } from "./endpoints.ts";

export const authKeys: Feature = {
  name: "authkeys",
  endpoints: (app) => authKeyEndpoints({ authKeys: app.authKeys, profileOf: (name) => app.profileOf(name) }),
  commands: {
    authkeys: async (context) => (await import("./commands/authkeys.ts")).authKeysCommand(context),
  },
  effects: {
    "authkeys list": "reads",
    "authkeys rotate": "changes profile",
  },
};
