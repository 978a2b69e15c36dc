/** The inventory: SIMs as they were last seen, and the syncs that read them. */
import { logIncidents } from "#app/feature.ts";
import type { Feature } from "#cli/feature.ts";

const simsSummary = "inventory: SIMs as last seen on the platform";

export const inventory: Feature = {
  name: "inventory",
  endpoints: async (app, { process, clock }) =>
    (await import("./endpoints.ts")).inventoryEndpoints({
      sims: app.sims,
      fleet: app.control.fleet,
      profiles: Object.keys(app.config.profiles),
      profileOf: (name) => app.profileOf(name),
      clock,
      accountOf: (profile) => app.account(profile),
      // A command without credentials may leave the sync to a worker.
      assertCallable: (profile) => void (process === "worker" && app.client(profile)),
    }),
  work: (app, { profiles, logger }) =>
    Promise.all(profiles.map((profile) => app.consumeSyncs(profile, logIncidents(logger, { profile, job: "sync" })))),
  commands: {
    sims: {
      group: "fleet",
      summary: simsSummary,
      load: async (context) => (await import("./commands/sims.ts")).simsCommand(context),
    },
  },
  stores: { "sims sync": "makes" },
  effects: {
    "sims sync": "changes profile",
    "sims list": "reads",
    "sims count": "reads",
    "sims show": "reads",
    "sims export": "reads",
    "sims changes": "reads",
  },
};
