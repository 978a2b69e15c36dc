/**
 * A small file system of its own for what workers write, so that it can be full: a tmpfs, which only root can mount.
 * Without it the folder is an ordinary one that never fills.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Disk {
  readonly folder: string;
  readonly canBeFull: boolean;
  fill(): void;
  makeRoom(): void;
  unmount(): void;
}

const kilobytes = 2_048;

export function openDisk(folder: string): Disk {
  mkdirSync(folder);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${kilobytes}k,mode=700`, "tmpfs", folder]);
  const canBeFull = mounted.status === 0;
  const filler = join(folder, "filler");
  return {
    folder,
    canBeFull,
    fill: () => {
      if (!canBeFull) return;
      for (let size = kilobytes; size >= 1; size = Math.floor(size / 2)) {
        try {
          writeFileSync(filler, Buffer.alloc(size * 1_024), { flag: "a" });
        } catch {
          // No room for so much: the next, smaller one fills the rest.
        }
      }
    },
    makeRoom: () => rmSync(filler, { force: true }),
    unmount: () => {
      if (canBeFull) spawnSync("umount", ["-l", folder]);
    },
  };
}
