/** Opens tickets: their store, their routes, and the worker's job that closes those with an answer. */
import { randomUUID } from "node:crypto";
import { sectionOf } from "#config/config.ts";
import { every } from "#core/time.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { queues } from "./config.ts";
import { closeAnswered, ticketStore } from "./record.ts";

export function openTickets(kernel: Kernel) {
  const store = ticketStore(kernel);
  const configured = sectionOf(kernel.config, queues);
  return {
    service: store,
    routes: async () =>
      (await import("./endpoints.ts")).ticketEndpoints({ store, queues: configured, newId: randomUUID }),
    work: () => {
      const closing = Object.entries(configured).filter(([, { closesAnswered }]) => closesAnswered);
      const close = (): void => void Promise.all(closing.map(([queue]) => closeAnswered(store, queue)));
      kernel.lifecycle.onStop("tickets", every(100, close));
    },
  };
}
