/**
 * Whether each command changes the fleet or the workers when it runs locally. Commands that change something get an audit
 * entry (`Context.withApp`); with `--server` the remote worker writes it. A command that is not listed cannot run.
 */

/** `changes profile`: its target is the selected profile unless its arguments name another thing. */
export type CommandEffect = "reads" | "changes" | "changes profile";

/**
 * Whether a command may make the embedded Redis of a data directory that has none: a command that starts work makes it
 * anywhere, one that changes or reads state only where the configuration names the directory, and one that has to reach the
 * workers never does.
 */
export type StoreUse = "makes" | "configured" | "never";

/** Those of the commands that belong to no feature. */
export const processEffects: Readonly<Record<string, CommandEffect>> = {
  // It prints a token and stores nothing: the configuration grants its rights.
  "tokens create": "reads",
  check: "reads",
  // The worker audits its requests.
  worker: "reads",
  // It changes nothing itself; the log names its callers.
  gateway: "reads",
  sandbox: "reads",
  // It uses its own platform and data.
  demo: "reads",
  // It changes no fleet, and there may be no Redis yet.
  init: "reads",
  schema: "reads",
  "completion bash": "reads",
  "completion zsh": "reads",
  "completion fish": "reads",
  "completion words": "reads",
  "completion tree": "reads",
};
