/** AuthKeys and their rotation. */
import { messageOf } from "#core/errors.ts";
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { logIncidents } from "#kernel/feature.ts";
import { credentials } from "#jobs/credentials/feature.ts";

export const authKeys = feature({
  name: "authkeys",
  audit: "authkeys",
  profileData: ["authkeys"],
  section: async () => (await import("./config.ts")).authKeysSection,
  events,
  needs: { credentials },
  checks: async (configured) => (await import("#jobs/credentials/config.ts")).filesOf(configured),
  open: async (kernel, needs, configured) => {
    const { AuthKeyService } = await import("./open.ts");
    const service = new AuthKeyService(kernel, needs.credentials, configured);
    const { logger } = kernel;
    return {
      service,
      routes: () => service.endpoints(),
      // A missing setting here does not prevent the rest of the work.
      work: async (profiles) => {
        const { ownersOf } = await import("./config.ts");
        const served = ownersOf(configured).filter(({ profile }) => profiles.includes(profile));
        const started = served.map((owner) => {
          const { profile } = owner;
          const report = logIncidents(logger, { profile, job: "authkeys" });
          return service.consume(owner, report).catch((thrown: unknown) => {
            logger.warn({ profile }, `AuthKeys are not rotated here: ${messageOf(thrown)}`);
            return [];
          });
        });
        return (await Promise.all(started)).flat();
      },
    };
  },
  commands: {
    authkeys: {
      group: "secrets",
      summary: "List and rotate the account's AuthKeys",
      load: async (context) => (await import("./commands/authkeys.ts")).authKeysCommand(context),
    },
  },
  stores: { "authkeys list": "makes", "authkeys rotate": "makes" },
  ofProfile: ["authkeys rotate"],
});
