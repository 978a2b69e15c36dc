import type { DropFolder } from "#jobs/drop-folder/config.ts";

/** A drop folder whose files change speed classes. */
export function dropFolderOf(path: string, settleMs: number, profile = "default"): DropFolder {
  const options = { partial: false, skipUnchanged: false };
  return { path, profile, operation: "set-speed-class", set: {}, name: undefined, options, settleMs };
}
