/** Opens tickets: their store, their routes, and the worker's job that closes those with an answer. */
import { randomUUID } from "node:crypto";
import type { ReadOf } from "#config/feature-section.ts";
import { profileJobs } from "#engine/queue/named-jobs.ts";
import { logIncidents } from "#kernel/feature.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { queues } from "./config.ts";
import { type Ticket, closeTicket, ticketStore } from "./record.ts";

export function openTickets(kernel: Kernel, configured: ReadOf<typeof queues>) {
  const store = ticketStore(kernel);
  const jobs = profileJobs("tickets", kernel);
  const toClose = async (account: string): Promise<Ticket[]> => {
    const closing = Object.entries(configured).filter(([, one]) => one.closesAnswered && one.profile === account);
    const found = await Promise.all(closing.map(([queue]) => store.get(queue)));
    return found.flatMap((ticket) => (ticket?.state === "answered" ? [ticket] : []));
  };
  return {
    service: store,
    routes: async () =>
      (await import("./endpoints.ts")).ticketEndpoints({ store, queues: configured, newId: randomUUID, ...jobs }),
    work: (profiles: readonly string[]) => {
      const consume = (profile: string) =>
        jobs.consumeOne(
          { name: profile },
          {
            onIncident: logIncidents(kernel.logger, { profile, job: "tickets" }),
            status: async ({ name }) => ((await toClose(name)).length > 0 ? "due" : "none"),
            work: async ({ name }) => {
              for (const ticket of await toClose(name)) await closeTicket(store, ticket);
              return { kind: "ended" };
            },
          },
        );
      return Promise.all(profiles.map(consume));
    },
  };
}
