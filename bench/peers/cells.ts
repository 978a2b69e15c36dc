/** The situations in which the limiters are compared. Each run starts in the middle of a window. */
import type { SandboxOptions } from "#sandbox/options.ts";

export interface Cell {
  readonly name: string;
  /** Calls per window. */
  readonly limit: number;
  readonly periodMs: number;
  /** Calls to make, by all processes. */
  readonly calls: number;
  readonly processes: number;
  readonly rounding: SandboxOptions["rounding"];
  /** Another caller, in calls per second. */
  readonly competitor: number;
  /** Another caller that spends many calls at once, again and again. */
  readonly burst: { readonly calls: number; readonly everyMs: number } | undefined;
  /** Somebody who calls the platform directly at random times: the share of the limit, and how many calls at once. */
  readonly rival: { readonly share: number; readonly burst: number } | undefined;
  /** Live calls at random times, as a share of the limit: with permits of simfleet, otherwise directly. */
  readonly live: number;
  /** The limit of each window, if it moves. */
  readonly limits: readonly number[] | undefined;
  /** By which the wall clock of the callers jumps after 8 s. */
  readonly clockJumpMs: number;
}

function cell(name: string, differs: Partial<Cell> = {}): Cell {
  return {
    name,
    limit: 200,
    periodMs: 10_000,
    calls: 950,
    processes: 1,
    rounding: "up",
    competitor: 0,
    burst: undefined,
    rival: undefined,
    live: 0,
    limits: undefined,
    clockJumpMs: 0,
    ...differs,
  };
}

const short = { limit: 120, periodMs: 6_000, calls: 800 };

const burst = { calls: 50, everyMs: 7_000 };

export const cells: readonly Cell[] = [
  cell("windows of 60 s", { limit: 600, periodMs: 60_000, calls: 1_500 }),
  cell("windows of 10 s"),
  cell("each window filled exactly", { calls: 1_000 }),
  cell("windows of 5 s", { limit: 100, periodMs: 5_000, calls: 475 }),
  cell("windows of 1 s", { limit: 50, periodMs: 1_000, calls: 1_025 }),
  cell("4 processes", { processes: 4, calls: 952 }),
  cell("16 processes", { processes: 16, calls: 960 }),
  cell("steady competitor", { competitor: 5, calls: 720 }),
  cell("steady competitor and 4 processes", { competitor: 5, calls: 720, processes: 4 }),
  cell("competitor in bursts", { burst, calls: 720 }),
  cell("competitor in bursts and 4 processes", { burst, calls: 720, processes: 4 }),
  cell("rival at 10 %", { ...short, rival: { share: 0.1, burst: 1 } }),
  cell("rival at 30 %", { ...short, rival: { share: 0.3, burst: 1 } }),
  cell("rival at 30 % in bursts of 20", { ...short, rival: { share: 0.3, burst: 20 } }),
  cell("live calls at 10 %", { ...short, live: 0.1 }),
  cell("live calls at 40 %", { ...short, live: 0.4 }),
  cell("seconds rounded down", { rounding: "down" }),
  cell("seconds rounded to nearest", { rounding: "nearest" }),
  cell("limit falls and rises", { limits: [200, 100, 100, 300, 200], calls: 850 }),
  cell("clock jumps back a minute", { clockJumpMs: -60_000 }),
  cell("clock jumps ahead a minute", { clockJumpMs: 60_000 }),
];
