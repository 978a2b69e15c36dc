/**
 * Whether each command changes the fleet or the workers when it runs locally. Commands that change something get an audit
 * entry (`Context.withApp`); with `--server` the remote worker writes it. A command that is not listed cannot run.
 */

/** `changes profile`: its target is the selected profile unless its arguments name another thing. */
export type CommandEffect = "reads" | "changes" | "changes profile";

export const commandEffects: Readonly<Record<string, CommandEffect>> = {
  plan: "reads",
  apply: "changes",
  "runs list": "reads",
  "runs show": "reads",
  "runs watch": "reads",
  "runs pause": "changes",
  "runs resume": "changes",
  "runs cancel": "changes",
  "runs retry": "changes",
  "runs undo": "changes",
  "runs approve": "changes",
  "runs results": "reads",
  "sims sync": "changes profile",
  "sims list": "reads",
  "sims show": "reads",
  "sims export": "reads",
  "sims changes": "reads",
  "credentials list": "reads",
  "credentials rotate": "changes",
  "credentials confirm": "changes",
  "credentials status": "reads",
  "authkeys list": "reads",
  "authkeys rotate": "changes profile",
  "schedules list": "reads",
  "schedules trigger": "changes",
  "schedules pause": "changes",
  "schedules resume": "changes",
  "automations list": "reads",
  "automations pause": "changes",
  "automations resume": "changes",
  // With --dry-run it reads.
  "automations replay": "changes",
  "events tail": "reads",
  "freeze on": "changes",
  "freeze off": "changes",
  "freeze status": "reads",
  "webhooks list": "reads",
  // It sends a message.
  "webhooks test": "changes",
  "webhooks resume": "changes",
  "deliveries list": "reads",
  "deliveries show": "reads",
  "deliveries redeliver": "changes",
  quota: "reads",
  // It prints a token and stores nothing: the configuration grants its rights.
  "tokens create": "reads",
  "audit list": "reads",
  check: "reads",
  // The worker audits its requests.
  worker: "reads",
  sandbox: "reads",
  // It uses its own platform and data.
  demo: "reads",
};
