/** Credential Sets and the rotations of their secrets. */
import type { Feature } from "#cli/feature.ts";

export const credentials: Feature = {
  name: "credentials",
  endpoints: async (app) =>
    (await import("./endpoints.ts")).credentialEndpoints({
      credentials: app.credentials,
      profileOf: (name) => app.profileOf(name),
      profiles: Object.keys(app.config.profiles),
    }),
  commands: {
    credentials: {
      group: "Rotate secrets:",
      summary: "list Credential Sets and rotate their secrets",
      load: async (context) => (await import("./commands/credentials.ts")).credentialsCommand(context),
    },
  },
  effects: {
    "credentials list": "reads",
    "credentials rotate": "changes",
    "credentials confirm": "changes",
    "credentials status": "reads",
  },
};
