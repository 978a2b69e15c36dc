/** Credential Sets and the rotations of their secrets. */
import type { Feature } from "#cli/feature.ts";
import { credentialEndpoints } from "./endpoints.ts";

export const credentials: Feature = {
  name: "credentials",
  endpoints: (app) =>
    credentialEndpoints({
      credentials: app.credentials,
      profileOf: (name) => app.profileOf(name),
      profiles: Object.keys(app.config.profiles),
    }),
  commands: {
    credentials: async (context) => (await import("./commands/credentials.ts")).credentialsCommand(context),
  },
  effects: {
    "credentials list": "reads",
    "credentials rotate": "changes",
    "credentials confirm": "changes",
    "credentials status": "reads",
  },
};
