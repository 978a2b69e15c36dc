/** The events of the credentials of profiles, and of the configuration. */
import type { Events } from "#events/event.ts";

export const events = {
  "secret.reloaded": {
    when: "A changed credentials file of a profile was reloaded: a process authenticates with the new credentials.",
    sentence: "{worker} reloaded its credentials",
    fields: { worker: "the process" },
  },
  "secret.kept": {
    when: "A changed credentials file of a profile cannot be loaded: a process keeps the previous credentials.",
    sentence: "{worker} keeps its previous credentials[: {reason}]",
    needsAttention: true,
    fields: { worker: "the process", reason: "the problem of the file" },
  },
  "configuration.reloaded": {
    when: "A worker applied changed tasks of the configuration, such as schedules, without a restart.",
    sentence: "{worker} took changes of the configuration (now {hash})",
    fields: {
      worker: "the process",
      hash: "identifies this version of the configuration; `simfleet check` prints the same value",
    },
  },
  "configuration.rejected": {
    when: "The configuration file has changed and is not valid: a worker keeps the previous configuration.",
    sentence: "{worker} keeps its previous configuration[: {reason}]",
    needsAttention: true,
    fields: { worker: "the process", reason: "the problems of the file" },
  },
} as const satisfies Events;

export const eventKinds = { secret: "Secrets", configuration: "Configuration" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}
