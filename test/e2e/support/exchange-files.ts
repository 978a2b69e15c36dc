/**
 * A process that does what an attacker with write access to a drop folder could do: as fast as possible it replaces
 * each file in processing/ with a link and puts the same file back, so that neither its size nor its time ever differs.
 *   node exchange-files.ts FOLDER TARGET MS
 */
import { linkSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const [folder = "", target = "", ms = "0"] = process.argv.slice(2);
const processing = join(folder, "processing");
const endMs = performance.now() + Number(ms);
let exchanges = 0;
while (performance.now() < endMs) {
  for (const name of readdirSync(processing)) {
    if (name.startsWith(".") || !name.endsWith(".csv")) continue;
    const path = join(processing, name);
    const [kept, link] = [`${path}.kept`, `${path}.link`];
    try {
      renameSync(path, kept);
      symlinkSync(target, link);
      renameSync(link, path);
      readdirSync(processing); // a moment in which the link exists
      renameSync(kept, path);
      exchanges += 1;
    } catch {
      // The worker was faster: the file is restored if possible, and nothing else is left behind.
      try {
        linkSync(kept, path);
      } catch {}
      for (const left of [kept, link]) rmSync(left, { force: true });
    }
  }
}
console.log(exchanges);
