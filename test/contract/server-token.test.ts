/** Which token a command sends to the worker that it is to ask. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runProgram } from "#cli/program.ts";
import { features } from "#features.ts";
import { type Ended, processIo } from "../support/process-io.ts";
import { answer, startPlatform } from "../unit/api/support.ts";

const dataDir = await mkdtemp(join(tmpdir(), "server-token-"));
await writeFile(join(dataDir, "admin-token"), `sf_${"a".repeat(43)}\n`, { mode: 0o600 });
afterAll(() => rm(dataDir, { recursive: true }));

async function give(line: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const { io, ended } = processIo({ HOME: dataDir, SIMFLEET_DATA_DIR: dataDir, ...env });
  await runProgram(line.split(" "), { io, features });
  return ended;
}

test.each(["https://worker.invalid", "https://127.0.0.1.worker.invalid"])(
  "the token of the data directory is not sent to %s, and the message names the setting to use",
  async (url) => {
    const { code, stderr } = await give(`quota --server ${url}`);
    expect([code, stderr]).toEqual([3, expect.stringMatching(/SIMFLEET_SERVER_TOKEN_FILE.*this machine/)]);
  },
);

test("the token of the data directory is sent to a local worker, and a configured token to any worker", async () => {
  await using worker = await startPlatform((_, response) => answer(response, 200, { buckets: [], nextCursor: null }));
  for (const url of [worker.url, worker.url.replace("127.0.0.1", "localhost")])
    expect(await give(`quota --server ${url}`)).toMatchObject({ code: 0 });
  const authorization = `Bearer sf_${"a".repeat(43)}`;
  expect(worker.seen.map(({ headers }) => headers.authorization)).toEqual([authorization, authorization]);
  // With a token of its own the command asks, and fails only since nobody is there.
  const remote = await give("quota --server https://worker.invalid", { SIMFLEET_SERVER_TOKEN: "sf_other" });
  expect([remote.code, remote.stderr]).toEqual([4, expect.stringContaining("No response from")]);
});
