/** A drop folder: CSV files that other programs put there become runs. */
import type { RunOptions } from "./run.ts";

export interface DropFolder {
  readonly path: string;
  readonly profile: string;
  /** Name of the SIM operation. */
  readonly operation: string;
  /** Values for all rows by input; the others are columns. */
  readonly set: Readonly<Record<string, string>>;
  /** Name of the runs; undefined: the name of the file. */
  readonly name: string | undefined;
  readonly options: RunOptions;
  /** A file is picked up once it has not changed for this long. */
  readonly settleMs: number;
}
