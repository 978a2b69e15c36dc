/** A drop folder: CSV files that other programs put there become runs. */
import type { RunOptions } from "./run.ts";

export interface DropFolder {
  readonly path: string;
  readonly profile: string;
  /** One class for all rows of files of ids only. */
  readonly speedClass: string | undefined;
  /** What the runs are called; undefined: as their files. */
  readonly name: string | undefined;
  readonly options: RunOptions;
  /** A file is taken once it has looked the same for so long. */
  readonly settleMs: number;
}
