/** Commands and workers with data of another version in Redis. */
import { expect, test } from "vitest";
import { CliHarness } from "./support/cli-harness.ts";

const commands = ["plan fleet.csv", "apply fleet.csv --yes", "runs list", "sims sync", "freeze on --yes", "worker"];
const key = "{simfleet}:data-version";

test.each([
  ["99", "a newer simfleet (data version 99; this one reads 7): upgrade this simfleet"],
  ["1", "an older simfleet (data version 1; this one reads 7): use an empty Redis or data directory"],
])("commands and workers refuse data of version %s and change nothing", async (version, why) => {
  await using harness = await CliHarness.open({ rows: 2 });
  const redis = await harness.redis();
  await redis.set(key, version);
  const keysBefore = await redis.keys("*");
  for (const command of commands) {
    const ended = await harness.run(command.split(" "));
    expect(ended, command).toMatchObject({ code: 4, stdout: "" });
    expect(ended.stderr, command).toContain(`The data in Redis was written by ${why}`);
  }
  expect(await redis.keys("*")).toEqual(keysBefore);
});
