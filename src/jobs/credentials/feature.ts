/** Credential Sets and the rotations of their secrets. */
import { logIncidents } from "#app/feature.ts";
import type { Feature } from "#cli/feature.ts";

const credentialsSummary = "list Credential Sets and rotate their secrets";

export const credentials: Feature = {
  name: "credentials",
  endpoints: async (app) =>
    (await import("./endpoints.ts")).credentialEndpoints({
      credentials: app.credentials,
      profileOf: (name) => app.profileOf(name),
      profiles: Object.keys(app.config.profiles),
    }),
  // Without a key to seal secrets nothing is rotated; the worker does everything else.
  work: async (app, { profiles, logger }) => {
    if (app.config.seal !== undefined) {
      return Promise.all(
        profiles.map((profile) => app.consumeRotations(profile, logIncidents(logger, { profile, job: "rotate" }))),
      );
    }
    if (Object.keys(app.config.rotations).length > 0) {
      const message = "rotations are configured but will not run: no key to seal secrets is set";
      logger.warn({ where: "seal.keyFile" }, message);
    }
    return [];
  },
  commands: {
    credentials: {
      group: "secrets",
      summary: credentialsSummary,
      load: async (context) => (await import("./commands/credentials.ts")).credentialsCommand(context),
    },
  },
  stores: { "credentials list": "makes", "credentials rotate": "makes" },
  effects: {
    "credentials list": "reads",
    "credentials rotate": "changes",
    "credentials confirm": "changes",
    "credentials status": "reads",
  },
};
