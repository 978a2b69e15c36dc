/** The texts of the parts that pages share: tables, bars, charts, messages, dialogs. */
import { counted, grouped } from "../pure/format.ts";
import type { Outcome } from "../pure/shapes.ts";

/** Headings of columns that several tables have. */
export const columnsText = {
  at: "Time",
  what: "What",
  name: "Name",
  profile: "Profile",
  state: "State",
  type: "Type",
  sim: "SIM",
  line: "Line",
  outcome: "Outcome",
  reason: "Reason",
  problem: "Problem",
  change: "Before and after",
  act: "Actions",
} as const;

export const outcomesText: Readonly<Record<Outcome, string>> = {
  done: "accepted by the platform",
  skipped: "already as requested",
  rejected: "invalid, or rejected by the platform",
  failed: "no usable response after all attempts",
  unknown: "sent once, response lost; may be done",
  cancelled: "not sent: the run was cancelled or aborted",
  pending: "not processed yet",
};

export const partsText = {
  outcomeBar: "Rows with an outcome",
  outcomeBarValue: (settled: number, total: number, percent: string) =>
    `${grouped(settled)} of ${grouped(total)} rows, ${percent}`,
  outcomeLegend: "Rows by outcome",
  quotaMeter: "Calls left in this window",
  quotaMeterValue: (left: number, limit: number, reserve: number) =>
    `${grouped(left)} of ${grouped(limit)} calls left${reserve > 0 ? `, ${grouped(reserve)} reserved` : ""}`,
  failedAttempts: (attempts: number) => `${counted(attempts, "failed attempt")} since`,
  nextAttempt: (when: string) => `, next attempt ${when}`,
  reading: (what: string) => `Loading ${what} …`,
  seriesNoValue: (name: string) => `${name}: no value`,
  seriesOfBars: (name: string, sum: number, most: number) =>
    `${name}: ${grouped(sum)} in total, ${grouped(most)} at most`,
  seriesConstant: (name: string, last: number) => `${name}: ${grouped(last)}`,
  seriesRange: (name: string, last: number, [least, most]: readonly [number, number]) =>
    `${name}: ${grouped(last)} now, between ${grouped(least)} and ${grouped(most)}`,
  typeFirst: (count: number) => `Type ${grouped(count)} first.`,
  typeToConfirm: (count: number) => `Type ${grouped(count)} to confirm.`,
  numberOfSims: "Number of SIMs",
  close: "Close",
  dismiss: "Dismiss",
  copy: (id: string) => `Copy ${id}`,
  copied: "Copied",
  path: "Breadcrumbs",
} as const;
