/**
 * A few seeds of the chaos test (test/chaos): real workers keep every promise while processes, Redis, the network, the
 * platform, clocks and the disk break under them.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { isLong } from "../support/long.ts";

const script = fileURLToPath(new URL("../chaos/main.ts", import.meta.url));
const rounds = 8;
/** What a worker takes in calm; the round that measures it is left out here. */
const calmMegabytes = 190;

const inLongForm = test.runIf(isLong);

inLongForm(
  `everything comes to rest and is right after the faults of ${rounds} seeds`,
  { timeout: 600_000 },
  async () => {
    const options = ["--seed", "204", "--seeds", String(rounds), "--calm-mb", String(calmMegabytes), "--at-once", "3"];
    const chaos = spawn(process.execPath, [script, ...options], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(chaos, "close");
    onTestFinished(async () => {
      chaos.kill("SIGTERM");
      await ended;
    });
    const said = await text(chaos.stdout);
    expect((await ended)[0], said).toBe(0);
    expect(said).toContain(`${rounds} seeds, 0 failed`);
  },
);
