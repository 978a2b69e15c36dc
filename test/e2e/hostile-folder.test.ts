/** Somebody who may write to the drop folder and exchanges files for links while the worker works on it. */
import { lstatSync, mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { dumpOf } from "./support/canary.ts";
import { CliHarness } from "./support/cli-harness.ts";

const marker = "MARKER-0815";
const attackMs = 10_000;
const attacker = fileURLToPath(new URL("./support/exchange-files.ts", import.meta.url));

test
  .runIf(isLong)
  .concurrent(
    `files swapped with links for ${attackMs / 1_000} seconds reveal nothing of the link targets`,
    async () => {
      await using harness = await CliHarness.open({
        sims: 50,
        env: {
          SIMFLEET_DROP_FOLDER_PATH: "in",
          SIMFLEET_DROP_FOLDER_SETTLE_SECONDS: "0.1",
          SIMFLEET_LOG_LEVEL: "trace",
        },
      });
      const folder = harness.path("in");
      const target = harness.path("private.txt");
      mkdirSync(folder);
      writeFileSync(target, `${marker},second\n${marker}-row,x\n`, { mode: 0o600 });
      const worker = await harness.worker();
      await until("the worker watches", () => readdirSync(folder).includes("processing"));
      const attack = harness.startProgram(process.execPath, [attacker, folder, target, String(attackMs)]);
      // The attacker counts its time from when it has started.
      for (let n = 0; attack.child.exitCode === null; n += 1) {
        writeFileSync(harness.path("fresh"), `simId,speedClass\n${harness.simId(1)},s1.slow\n`);
        renameSync(harness.path("fresh"), join(folder, `file-${n}.csv`));
        await sleep(200); // the pace of the files, not a wait
      }
      const { stdout: exchanges } = await attack.ended;
      const left = (): string[] => readdirSync(join(folder, "processing"));
      await until("nothing is left in processing/", () => left().length === 0);
      const events = (await harness.run(["events", "tail", "--since", "1h", "--json"])).stdout;
      worker.kill("SIGTERM");
      const { stdout, stderr } = await worker.ended;
      expect(Number(exchanges)).toBeGreaterThan(100);
      const shown = [events, stdout, stderr, await dumpOf(await harness.redis())];
      for (const place of ["done", "failed"]) {
        for (const name of readdirSync(join(folder, place))) {
          const path = join(folder, place, name);
          shown.push(name, ownContentOf(path));
        }
      }
      expect(shown.filter((text) => text.includes(marker))).toEqual([]);
      expect(readFileSync(target, "utf8")).toContain(marker);
      expect(statSync(target).mode & 0o777).toBe(0o600);
    },
  );

test.concurrent("a malformed file in the drop folder reveals none of its content in reports", async () => {
  await using harness = await CliHarness.open({
    env: { SIMFLEET_DROP_FOLDER_PATH: "in", SIMFLEET_DROP_FOLDER_SETTLE_SECONDS: "0.1", SIMFLEET_LOG_LEVEL: "trace" },
  });
  mkdirSync(harness.path("in"));
  const worker = await harness.worker();
  await harness.write("in/header.csv", `${marker},${marker}-2\n1,2\n`);
  await harness.write("in/rows.csv", `simId,speedClass\n${marker} x,s1.slow\n${harness.simId(0)},${marker} y\n`);
  await harness.write("in/rounded.csv", "simId,speedClass\n8.94231E+18,s1.slow\n");
  const failed = (): string[] =>
    readdirSync(harness.path("in")).includes("failed") ? readdirSync(harness.path("in/failed")) : [];
  await until("all are refused", () => failed().length === 6);
  const problems = failed().filter((name) => name.endsWith(".problem.txt"));
  const texts = await Promise.all(problems.map((name) => harness.read(`in/failed/${name}`)));
  const text = texts.join("\n");
  expect(text).toContain("The header has no column simId. It has 2 columns. Needed: simId and speedClass.");
  expect(text).toContain("line 2: The cell simId cannot be the ID of a SIM");
  expect(text).toContain("line 3: The cell speedClass is not valid for speedClass");
  expect(text).toContain("line 2: The cell simId is a spreadsheet's rounding");
  const events = (await harness.run(["events", "tail", "--since", "1h", "--json"])).stdout;
  expect(events).toContain("file.refused");
  worker.kill("SIGTERM");
  const { stdout, stderr } = await worker.ended;
  const shown = [text, events, stdout, stderr, await dumpOf(await harness.redis())].join("\n");
  expect(shown).not.toContain(marker);
  expect(shown).not.toContain("8.94231E+18");
});

/** What lies there, but not what a link leads to: the link is the attacker's own. */
function ownContentOf(path: string): string {
  return lstatSync(path).isFile() ? readFileSync(path, "utf8") : "";
}
