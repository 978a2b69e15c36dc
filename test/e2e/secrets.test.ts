/** Canary secrets go through all of simfleet at the lowest log level, and are searched for wherever text is left. */
import { describe, expect, test, vi } from "vitest";
import { until } from "../support/until.ts";
import { isLong } from "../support/long.ts";
import { dumpOf, encodings, formsOf, found, textsIn, titleOf } from "./support/canary.ts";
import { answeringPlatform } from "./support/stand-in.ts";
import type { Ended } from "./support/process.ts";
import { CliHarness, type CliHarnessOptions, noAuthKey } from "./support/cli-harness.ts";

vi.setConfig({ testTimeout: 600_000 });

// With characters that URLs, JSON and HTML write in another way.
const password = `canary pass/word+"q"&<ö>-${"x".repeat(8)}`;
const authKey = `canary-key/+="\\-${"y".repeat(20)}`;
const mfaSecret = "KRSXG5CTMVRXEZLUKN2HE2LOM4";
/** What one command has as a secret must not hide what another one shows. */
const alone = { isProcessPerCommand: true } as const;

/** Every pair that the sandbox gave out, as it went over the wire. */
function watchPairs(harness: CliHarness): string[] {
  const pairs: string[] = [];
  const { accounts } = harness.sandbox;
  const authenticate = accounts.authenticate.bind(accounts);
  accounts.authenticate = async (body) => {
    const pair = await authenticate(body);
    pairs.push(pair.apiKey, pair.token);
    return pair;
  };
  return pairs;
}

// Shows S1.
test("the secret search of these tests finds a secret in each of twenty-six encodings", () => {
  const secret = 'a canary ?>?>?>~~~"<&>\\\u00ff\u00fe\u00ffz';
  expect(new Set(formsOf(secret)).size).toBe(26);
  for (const form of formsOf(secret)) expect(found(`before ${form} after`, [secret])).not.toEqual([]);
  const header = Buffer.from(`user:${secret}`).toString("base64");
  expect(found(`Basic ${header}`, [secret])).not.toEqual([]);
});

/** Starts a process of each kind, one after the other. @returns what they wrote, and their titles */
async function startEach(harness: CliHarness, wrong: Readonly<Record<string, string>>) {
  const apply = harness.start(["apply", "fleet.csv", "--yes", "--json"]);
  await until("apply has a process", async () => (await titleOf(apply)).includes("apply"));
  const titles = [await titleOf(apply)];
  const said = [await apply.ended];
  expect(said[0]?.code).toBe(0);
  for (const args of [["check"], ["quota"], ["runs", "list"], ["plan", "fleet.csv", "--out", "verdicts.csv"]]) {
    said.push(await harness.run(args));
  }
  const worker = await harness.worker();
  titles.push(await titleOf(worker));
  said.push(await worker.end(), await harness.run(["check"], wrong));
  return { outputs: outputOf(said), titles: titles.join("\n") };
}

const outputOf = (said: readonly Ended[]): string => said.flatMap(({ stdout, stderr }) => [stdout, stderr]).join("\n");

describe.concurrent("secrets in output, logs, and files", () => {
  const walks: [string, CliHarnessOptions, readonly string[]][] = [
    ["of an AuthKey", { authKey, env: { SIMFLEET_AUTH_KEY: authKey } }, [authKey]],
    [
      "of a user with a password and one-time codes",
      {
        rootPassword: password,
        mfaSecret,
        env: {
          ...noAuthKey,
          SIMFLEET_EMAIL: "root@example.com",
          SIMFLEET_PASSWORD: password,
          SIMFLEET_MFA_SECRET: mfaSecret,
        },
      },
      [password, mfaSecret],
    ],
  ];
  test.each(isLong ? walks : walks.slice(0, 1))("a run leaves no secret %s anywhere", async (_, options, secrets) => {
    const faults = { "expire-pairs": 0.05, "lost-answer": 0.05, "html-502": 0.05 };
    const env = { ...options.env, SIMFLEET_LOG_LEVEL: "trace" };
    await using harness = await CliHarness.open({ ...options, ...alone, rows: 90, faults, env });
    const pairs = watchPairs(harness);
    const redis = await harness.redis();
    const { outputs, titles } = await startEach(harness, { ...options.env, SIMFLEET_COVERAGE: "no" });
    expect(pairs.length).toBeGreaterThanOrEqual(4);
    const everything = [...secrets, ...pairs];
    expect(found(outputs, everything)).toEqual([]);
    expect(found(titles, everything)).toEqual([]);
    expect(found(await dumpOf(redis), everything)).toEqual([]);
    // Results, verdicts, Redis's append-only file and its log.
    expect(found(await textsIn(harness.folder), everything)).toEqual([]);
  });

  const token = `canary-token+/=-${"z".repeat(24)}`;
  const live = [authKey, token];
  const ways = Object.values(encodings).flatMap((encode) => live.map(encode));

  let calls = 0;
  const refuse = () => {
    const text = `no access with ${ways[calls++ % ways.length] ?? ""}`;
    return { status: 400, body: { code: text, message: text } };
  };

  /** A text has none of the live secrets in any encoding. */
  function expectNone(text: string): void {
    for (const way of ways) {
      // The message was cut at 300 characters, and its control characters went.
      const written = way.replaceAll(/\p{Cc}+/gu, " ").slice(0, 40);
      expect(text.indexOf(written), written).toBe(-1);
    }
  }

  // Shows S1.
  test("a run leaves no secret anywhere when the platform echoes one in any encoding in each row", async () => {
    const pair = { apiKey: "canary-api-key-0123456789", token };
    await using platform = await answeringPlatform(pair, refuse);
    const address = `http://127.0.0.1:${platform.port}`;
    const env = { SIMFLEET_ENDPOINT_GLOBAL: address, SIMFLEET_AUTH_KEY: authKey, SIMFLEET_LOG_LEVEL: "trace" };
    await using harness = await CliHarness.open({ ...alone, rows: ways.length, env });
    const redis = await harness.redis();
    const { document, ...applied } = await harness.json(["apply", "fleet.csv", "--yes"]);
    const results = await harness.run(["runs", "results", document.runId, "--format", "ndjson"]);
    const hidden = /"rejected".*no access with (.{0,12}\[secret\]|0)/;
    expect(results.stdout.split("\n").filter((line) => hidden.test(line))).toHaveLength(ways.length);
    expectNone(outputOf([applied, results]));
    expectNone(await dumpOf(redis));
    expectNone(await textsIn(harness.folder));
  });
});
