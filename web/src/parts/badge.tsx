/** States as a badge: a word, an icon and a color, so that color is never the only signal. */
import type { JSX } from "preact";
import { standingOf } from "../pure/runs/tally.ts";
import type { RunReport } from "../pure/shapes.ts";
import { Icon, type IconName } from "./icon.tsx";

type Appearance = readonly [kind: "good" | "busy" | "bad" | "warn" | "plain", icon: IconName];

const appearances: Readonly<Record<string, Appearance>> = {
  // runs
  planned: ["plain", "waiting"],
  running: ["busy", "busy"],
  stalled: ["warn", "warn"],
  paused: ["warn", "paused"],
  "awaiting-approval": ["warn", "person"],
  completed: ["good", "done"],
  incomplete: ["warn", "warn"],
  aborted: ["bad", "stopped"],
  // rows, executions, deliveries
  done: ["good", "done"],
  skipped: ["plain", "arrow"],
  rejected: ["bad", "cross"],
  failed: ["bad", "warn"],
  cancelled: ["plain", "stopped"],
  pending: ["plain", "waiting"],
  missed: ["warn", "warn"],
  delivered: ["good", "done"],
  // schedules, automations, webhooks
  active: ["good", "done"],
  failing: ["bad", "warn"],
  stopped: ["bad", "stopped"],
  frozen: ["warn", "freezes"],
  // verdicts of a plan, and rows whose response was lost
  change: ["good", "arrow"],
  unchanged: ["plain", "done"],
  unknown: ["warn", "warn"],
  "not-in-inventory": ["warn", "warn"],
  duplicate: ["plain", "arrow"],
  conflict: ["bad", "cross"],
  invalid: ["bad", "cross"],
  never: ["plain", "waiting"],
};

export function Badge({ state, word = state }: { state: string; word?: string }): JSX.Element {
  const [kind, icon] = appearances[state] ?? ["busy", "busy"];
  return (
    <span class={`badge is-${kind}`}>
      <Icon name={icon} size={13} />
      {word.replaceAll("-", " ")}
    </span>
  );
}

/** The state of a run, which says whether rows are not done and whether it is frozen. */
export function RunBadge({ run }: { run: RunReport }): JSX.Element {
  return <Badge {...standingOf(run)} />;
}
