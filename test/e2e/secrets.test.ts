/** Canary secrets go through all of simfleet at the lowest log level, and are searched for wherever text is left. */
import { describe, expect, test, vi } from "vitest";
import { until } from "../support/until.ts";
import { isLong } from "../support/long.ts";
import { dumpOf, encodings, formsOf, found, textsIn, titleOf } from "./support/canary.ts";
import { refusingPlatform } from "./support/stand-in.ts";
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
test("the secret search of these tests finds a secret in each of sixteen encodings", () => {
  const secret = 'a canary ?>?>?>~~~"<&>\\\u00ff\u00fe\u00ffz';
  expect(new Set(formsOf(secret)).size).toBe(16);
  for (const form of formsOf(secret)) expect(found(`before ${form} after`, [secret])).not.toEqual([]);
  const header = Buffer.from(`user:${secret}`).toString("base64");
  expect(found(`Basic ${header}`, [secret])).not.toEqual([]);
});

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
    await using harness = await CliHarness.open({
      ...options,
      ...alone,
      faults,
      env: { ...options.env, SIMFLEET_LOG_LEVEL: "trace" },
    });
    const pairs = watchPairs(harness);
    const redis = await harness.redis();
    await harness.fleet("fleet.csv", 90);
    const said: Ended[] = [];
    const apply = harness.start(["apply", "fleet.csv", "--yes", "--json"]);
    await until("apply has a process", async () => (await titleOf(apply)).includes("apply"));
    const titles = [await titleOf(apply)];
    said.push(await apply.ended);
    expect(said[0]?.code).toBe(0);
    for (const args of [["check"], ["quota"], ["runs", "list"], ["plan", "fleet.csv", "--out", "verdicts.csv"]]) {
      said.push(await harness.run(args));
    }
    const worker = await harness.worker();
    titles.push(await titleOf(worker));
    said.push(await worker.end());
    const wrong = { SIMFLEET_AUTH_KEY: options.env?.SIMFLEET_AUTH_KEY ?? "", SIMFLEET_COVERAGE: "no" };
    said.push(await harness.run(["check"], { ...options.env, ...wrong }));
    expect(pairs.length).toBeGreaterThanOrEqual(4);
    const everything = [...secrets, ...pairs];
    for (const { stdout, stderr } of said) expect(found(stdout + stderr, everything)).toEqual([]);
    expect(found(titles.join("\n"), everything)).toEqual([]);
    expect(found(await dumpOf(redis), everything)).toEqual([]);
    // Results, verdicts, Redis's append-only file and its log.
    expect(found(await textsIn(harness.folder), everything)).toEqual([]);
  });

  // Shows S1.
  test("a run leaves no secret anywhere when the platform echoes one in any encoding in each row", async () => {
    const token = `canary-token+/=-${"z".repeat(24)}`;
    const live = [authKey, token];
    const ways = Object.values(encodings).flatMap((encode) => live.map(encode));
    const pair = { apiKey: "canary-api-key-0123456789", token };
    await using platform = await refusingPlatform(pair, (call) => `no access with ${ways[call % ways.length] ?? ""}`);
    await using harness = await CliHarness.open({
      ...alone,
      env: {
        SIMFLEET_ENDPOINT_GLOBAL: `http://127.0.0.1:${platform.port}`,
        SIMFLEET_AUTH_KEY: authKey,
        SIMFLEET_LOG_LEVEL: "trace",
      },
    });
    const redis = await harness.redis();
    await harness.fleet("fleet.csv", ways.length);
    const said = [await harness.run(["apply", "fleet.csv", "--yes", "--json"])];
    const { runId } = JSON.parse(said[0]?.stdout ?? "") as { runId: string };
    said.push(await harness.run(["runs", "results", runId, "--format", "ndjson"]));
    const reasons = said[1]?.stdout.trimEnd().split("\n") ?? [];
    expect(reasons.filter((line) => /"rejected".*no access with (.{0,12}\[secret\]|0)/.test(line))).toHaveLength(
      ways.length,
    );
    const everything = [...said.flatMap(({ stdout, stderr }) => [stdout, stderr]), await dumpOf(redis)].join("\n");
    const files = await textsIn(harness.folder);
    for (const secret of live) {
      for (const [name, encode] of Object.entries(encodings)) {
        // The message was cut at 300 characters, and its control characters went.
        const written = encode(secret)
          .replaceAll(/\p{Cc}+/gu, " ")
          .slice(0, 40);
        const where = [everything, files].flatMap((text) => (text.includes(written) ? [text.indexOf(written)] : []));
        expect(where, `${name}: ${written}`).toEqual([]);
      }
    }
  });
});
