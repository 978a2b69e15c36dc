/** Lists, counts and exports of all profiles, locally and through a worker. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inventory } from "#jobs/inventory/feature.ts";
import { startPlant } from "../support/plant.ts";
import type { Ended } from "../support/process-io.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

const plant = await startPlant({ sims: 4 });
afterAll(() => plant.close());
const harness = await ControlHarness.ofFile({
  sandbox: { sims: 3 },
  env: { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "" },
  prepare: () =>
    Promise.resolve(`endpoints: { japan: "${plant.url}" }
profiles:
  default: { coverage: g, credentials: { authKeyId: keyId-sandbox, authKey: secret-sandbox } }
  plant: { coverage: jp, wording: subscribers, credentials: { authKeyId: keyId-plant, authKey: secret-plant } }
  empty: { coverage: g, credentials: { authKeyId: keyId-other, authKey: secret-other } }
`),
});

beforeAll(async () => {
  await harness.app.work(["default", "plant"], [inventory]);
  for (const profile of ["default", "plant"]) await harness.sync(profile);
});

interface Page {
  readonly sims: readonly Readonly<Record<string, unknown>>[];
  readonly nextCursor: string | null;
  readonly isComplete: boolean;
}

describe.each(["local", "remote"] as const)("all profiles, %s", (where) => {
  const give = (words: readonly string[]): Promise<Ended> => runCommand(harness, words, where);
  const json = async <T>(words: readonly string[]): Promise<T> =>
    JSON.parse((await give([...words, "--json"])).stdout) as T;

  const ofAll = [...Array(3).fill("default"), ...Array(4).fill("plant")] as string[];

  test.each([[[]], [["--sort", "-speedClass"]]])("a list %j goes through the profiles page by page", async (sort) => {
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let next: string | null = ""; next !== null;) {
      const cursor: readonly string[] = next === "" ? [] : ["--cursor", next];
      const page: Page = await json(["sims", "list", "--all-profiles", "--limit", "3", ...sort, ...cursor]);
      seen.push(...page.sims.map(({ profile, simId, imsi }) => `${String(profile)} ${String(simId ?? imsi)}`));
      sizes.push(page.sims.length);
      expect(page.isComplete).toBe(false); // one was never synced
      next = page.nextCursor;
    }
    expect(sizes.slice(0, 3)).toEqual([3, 3, 1]);
    expect(new Set(seen).size).toBe(7);
    expect(seen.map((line) => line.split(" ")[0])).toEqual(ofAll);
  });

  test("counts are those of each profile and their sum", async () => {
    const profiles = [
      { profile: "default", count: 3 },
      { profile: "plant", count: 4 },
      { profile: "empty", count: 0 },
    ];
    expect(await json(["sims", "count", "--all-profiles"])).toMatchObject({ total: 7, profiles, values: [] });
    const { stdout } = await give(["sims", "count", "--all-profiles"]);
    expect(stdout).toMatch(/^PROFILE +SIMS\ndefault +3\nplant +4\nempty +0\n7 SIMs/);
  });

  test("counts by a field are those of each profile", async () => {
    const words = ["sims", "count", "--all-profiles", "--by", "status"];
    const by = await json<{ values: { profile: string; count: number }[] }>(words);
    const sum = (name: string) =>
      by.values.filter(({ profile }) => profile === name).reduce((all, { count }) => all + count, 0);
    expect([sum("default"), sum("plant")]).toEqual([3, 4]);
    expect((await give(words)).stdout).toMatch(/^PROFILE +STATUS +SIMS\n/);
  });

  test("an export has the profile as its first column, and as a field", async () => {
    const csv = (await give(["sims", "export", "--all-profiles"])).stdout.trim().split("\n");
    expect(csv[0]).toMatch(/^profile,simId,imsi,.*goneAt$/);
    expect(csv.slice(1).map((line) => line.split(",")[0])).toEqual(ofAll);
    const chosen = await give(["sims", "export", "--all-profiles", "--columns", "imsi,profile"]);
    expect(chosen.stdout).toMatch(/^imsi,profile\n\d+,default\n/);
    const lines = (await give(["sims", "export", "--all-profiles", "--format", "ndjson"])).stdout.trim().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { profile: string }).profile)).toEqual(ofAll);
  });

  test("a field that one profile knows is accepted, one that none knows is not, and --profile excludes all", async () => {
    const { sims } = await json<Page>(["sims", "list", "--all-profiles", "--where", "simId exists"]);
    expect(sims.length).toBeGreaterThan(2);
    const unknown = await give(["sims", "list", "--all-profiles", "--where", "nowhere=1"]);
    const why = expect.stringContaining("No SIM in the inventory has the field nowhere") as unknown;
    expect([unknown.code, unknown.stderr]).toEqual([2, why]);
    const both = await give(["sims", "list", "--all-profiles", "--profile", "plant"]);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("--profile")]);
  });
});

test("the API refuses one profile and all profiles at once, and a cursor of another profile's name", async () => {
  const statusOf = async (query: string): Promise<number> =>
    (await harness.ask(`/v1/sims?${query}`, { as: "viewer" })).status;
  expect(await statusOf("allProfiles=true")).toBe(200);
  expect(await statusOf("allProfiles=true&profile=plant")).toBe(400);
  expect(await statusOf("allProfiles=true&cursor=nowhere.3")).toBe(400);
  const quick = await harness.ask("/v1/sims/count?allProfiles=true", { as: "viewer" });
  expect(await quick.json()).toEqual({ count: 7, isExact: true });
});
