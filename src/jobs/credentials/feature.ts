/** Credential Sets and the rotations of their secrets. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { logIncidents } from "#kernel/feature.ts";

export const credentials = feature({
  name: "credentials",
  data: { rotations: ["rotation", "rotations"] },
  audit: "credentials",
  kept: ({ retention }) => ({ rotations: retention.rotationDays }),
  profileData: ["rotations"],
  section: async () => (await import("./config.ts")).rotationsSection,
  events,
  checks: async (rotations) => (await import("./config.ts")).filesOf(rotations),
  open: async (kernel, _, rotations) => {
    const { CredentialService, sweepRotations } = await import("./open.ts");
    const service = new CredentialService(kernel, rotations);
    const { config, logger } = kernel;
    return {
      service,
      routes: () => service.endpoints(),
      sweep: (now) => sweepRotations(now, { config, log: service.log, rotations }),
      // Without a key to seal secrets nothing is rotated; the worker does everything else.
      work: async (profiles) => {
        if (config.seal !== undefined) {
          const works = profiles.map(async (profile) => {
            const onIncident = logIncidents(logger, { profile, job: "rotate" });
            const working = await service.consume(profile, onIncident);
            service.watchAges(profile, onIncident);
            return working;
          });
          return Promise.all(works);
        }
        if (Object.keys(rotations).length > 0) {
          const message = "rotations are configured but will not run: no encryption key is set";
          logger.warn({ where: "seal.keyFile" }, message);
        }
        return undefined;
      },
    };
  },
  commands: {
    credentials: {
      group: "secrets",
      summary: "Create, list and delete Credential Sets, and rotate their secrets",
      load: async (context) => (await import("./commands/credentials.ts")).credentialsCommand(context),
    },
  },
  stores: { "credentials list": "makes", "credentials create": "makes", "credentials rotate": "makes" },
});
