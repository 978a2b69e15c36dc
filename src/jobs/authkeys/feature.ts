/** AuthKeys and their rotation. */
import { logIncidents } from "#app/feature.ts";
import type { Feature } from "#cli/feature.ts";
import { messageOf } from "#core/errors.ts";

const authKeysSummary = "list and rotate the account's AuthKeys";

export const authKeys: Feature = {
  name: "authkeys",
  endpoints: async (app) =>
    (await import("./endpoints.ts")).authKeyEndpoints({
      authKeys: app.authKeys,
      profileOf: (name) => app.profileOf(name),
    }),
  // A missing setting here does not prevent the rest of the work.
  work: async (app, { profiles, logger }) => {
    const rotated = Object.keys(app.config.authKeys).filter((name) => profiles.includes(name));
    const started = rotated.map(async (profile) => {
      try {
        return [await app.consumeAuthKeys(profile, logIncidents(logger, { profile, job: "authkeys" }))];
      } catch (thrown) {
        logger.warn({ profile }, `AuthKeys are not rotated here: ${messageOf(thrown)}`);
        return [];
      }
    });
    return (await Promise.all(started)).flat();
  },
  commands: {
    authkeys: {
      group: "secrets",
      summary: authKeysSummary,
      load: async (context) => (await import("./commands/authkeys.ts")).authKeysCommand(context),
    },
  },
  stores: { "authkeys list": "makes", "authkeys rotate": "makes" },
  effects: {
    "authkeys list": "reads",
    "authkeys rotate": "changes profile",
  },
};
