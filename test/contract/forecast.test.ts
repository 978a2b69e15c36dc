/** The expected end of runs that share a quota, next to what happens. */
import { expect, onTestFinished, test } from "vitest";
import { runs } from "#jobs/runs/feature.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { ControlHarness } from "./support/control-harness.ts";

const periodSeconds = 12;
/** One row more or less at the border of a window shifts the end by a window; the rest is the work around a reset. */
const windowAndHalfMs = 18_000;
const mix = [
  { rows: 100 },
  { rows: 90 },
  { rows: 80, profile: "user" },
  { rows: 20, rate: 120 },
  { rows: 30 },
] as const satisfies readonly { rows: number; rate?: number; profile?: string }[];

const sims = mix.reduce((sum, { rows }) => sum + rows, 0);

/** Five runs of two users of one account, with what they say of their ends and how far all of them are. */
async function setup() {
  const harness = await ControlHarness.open({
    sandbox: { sims, periodSeconds, limits: { Sim: 60 }, userAuthKeyId: "keyId-user", userAuthKey: "secret-user" },
    env: { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "" },
    prepare: () =>
      Promise.resolve(`profiles:
  default: { coverage: g, credentials: { authKeyId: keyId-sandbox, authKey: secret-sandbox } }
  user: { coverage: g, credentials: { authKeyId: keyId-user, authKey: secret-user } }
`),
  });
  onTestFinished(() => harness[Symbol.asyncDispose]());
  await harness.app.work(["default", "user"], [runs]);
  const [header = "", ...rows] = harness.csv(sims).trim().split("\n");
  const ids: string[] = [];
  for (const { rows: count, ...options } of mix) {
    const body = [header, ...rows.splice(0, count), ""].join("\n");
    const query = Object.entries(options).map(([name, value]) => `${name}=${value}`);
    ids.push(await harness.startRun(body, `?${query.join("&")}`));
  }
  const all = (): Promise<RunReport[]> => Promise.all(ids.map((id) => harness.runs.show(id)));
  const seen: { readonly run: number; readonly atMs: number; readonly seconds: number }[] = [];
  const look = async (): Promise<void> => {
    for (const [run, { etaSeconds }] of (await all()).entries()) {
      if (etaSeconds !== null) seen.push({ run, atMs: Date.now(), seconds: etaSeconds });
    }
  };
  const isPast = (part: number) => async (): Promise<boolean> =>
    (await all()).reduce((sum, { counts }) => sum + counts.total - counts.pending, 0) > part * sims;
  /** What was expected and what happened, where they differ by more than a tenth and a window and a half. */
  const errors = async () => {
    const ends = (await all()).map(({ finishedAt }) => Date.parse(finishedAt ?? ""));
    return seen
      .map(({ run, atMs, seconds }) => ({ run, expectedMs: seconds * 1_000, tookMs: (ends[run] ?? 0) - atMs }))
      .filter(({ expectedMs, tookMs }) => Math.abs(expectedMs - tookMs) > Math.max(tookMs / 10, windowAndHalfMs));
  };
  return { all, seen, look, isPast, errors };
}

test.runIf(isLong)("five runs that share a quota end when they expect to, or close to it", { retry: 2 }, async () => {
  const { all, seen, look, isPast, errors } = await setup();
  await until("the quota is known", isPast(0.05));
  await until("each run has heard of the others", async () =>
    (await all()).slice(1).every(({ ahead }) => (ahead?.runs.length ?? 0) > 1),
  );
  await look();
  await until("half of the rows are done", isPast(0.5));
  await look();
  await until("all is done", async () => (await all()).every(({ state }) => state === "completed"));
  expect(seen.length).toBeGreaterThan(7);
  expect(await errors()).toEqual([]);
});
