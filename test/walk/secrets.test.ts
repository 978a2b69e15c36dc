/** Canary secrets go the whole walk at the most talkative log level, and are then searched for wherever text is left. */
import { describe, expect, test, vi } from "vitest";
import { until } from "../support/until.ts";
import { dumpOf, formsOf, found, textsIn, titleOf } from "./support/canary.ts";
import type { Ended } from "./support/process.ts";
import { echoServer } from "./support/stand-in.ts";
import { Walk, type WalkOptions } from "./support/walk.ts";

vi.setConfig({ testTimeout: 60_000 });

// With characters that URLs, JSON and HTML write in another way.
const password = `canary pass/word+"q"&<ö>-${"x".repeat(8)}`;
const authKey = `canary-key/+="\\-${"y".repeat(20)}`;
const mfaSecret = "KRSXG5CTMVRXEZLUKN2HE2LOM4";
const noAuthKey = { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "" };

/** Every pair that the sandbox gave out, as it went over the wire. */
function watchPairs(walk: Walk): string[] {
  const pairs: string[] = [];
  const { accounts } = walk.sandbox;
  const authenticate = accounts.authenticate.bind(accounts);
  accounts.authenticate = async (body) => {
    const pair = await authenticate(body);
    pairs.push(pair.apiKey, pair.token);
    return pair;
  };
  return pairs;
}

test("the search for a secret finds it in each of sixteen forms", () => {
  const secret = 'a canary ?>?>?>~~~"<&>\\\u00ff\u00fe\u00ffz';
  expect(new Set(formsOf(secret)).size).toBe(16);
  for (const form of formsOf(secret)) expect(found(`before ${form} after`, [secret])).not.toEqual([]);
  const header = Buffer.from(`user:${secret}`).toString("base64");
  expect(found(`Basic ${header}`, [secret])).not.toEqual([]);
});

describe.concurrent("no secret is left anywhere", () => {
  test.each<[string, WalkOptions, readonly string[]]>([
    ["of an AuthKey", { authKey, env: { SIMFLEET_AUTH_KEY: authKey } }, [authKey]],
    [
      "of a user with a password and one-time codes",
      {
        rootPassword: password,
        rootMfaSecret: mfaSecret,
        env: {
          ...noAuthKey,
          SIMFLEET_EMAIL: "root@example.com",
          SIMFLEET_PASSWORD: password,
          SIMFLEET_MFA_SECRET: mfaSecret,
        },
      },
      [password, mfaSecret],
    ],
  ])("%s", async (_, options, secrets) => {
    const faults = { "expire-pairs": 0.05, "lost-answer": 0.05, "html-502": 0.05 };
    await using walk = await Walk.open({ ...options, faults, env: { ...options.env, SIMFLEET_LOG_LEVEL: "trace" } });
    const pairs = watchPairs(walk);
    const redis = await walk.redis();
    await walk.fleet("fleet.csv", 90);
    const said: Ended[] = [];
    const apply = walk.start(["apply", "fleet.csv", "--yes", "--json"]);
    await until("apply has a process", async () => (await titleOf(apply)).includes("apply"));
    const titles = [await titleOf(apply)];
    said.push(await apply.ended);
    expect(said[0]?.code).toBe(0);
    for (const args of [["check"], ["quota"], ["runs", "list"], ["plan", "fleet.csv", "--out", "verdicts.csv"]]) {
      said.push(await walk.run(args));
    }
    const worker = await walk.worker();
    titles.push(await titleOf(worker));
    worker.kill("SIGTERM");
    said.push(await worker.ended);
    const wrong = { SIMFLEET_AUTH_KEY: options.env?.SIMFLEET_AUTH_KEY ?? "", SIMFLEET_COVERAGE: "no" };
    said.push(await walk.run(["check"], { ...options.env, ...wrong }));
    expect(pairs.length).toBeGreaterThanOrEqual(4);
    const everything = [...secrets, ...pairs];
    for (const { stdout, stderr } of said) expect(found(stdout + stderr, everything)).toEqual([]);
    expect(found(titles.join("\n"), everything)).toEqual([]);
    expect(found(await dumpOf(redis), everything)).toEqual([]);
    // Results, verdicts, Redis's append-only file and its log.
    expect(found(await textsIn(walk.folder), everything)).toEqual([]);
  });

  test("when the platform throws one back in its error", async () => {
    await using echo = await echoServer();
    const address = `http://127.0.0.1:${echo.port}`;
    await using walk = await Walk.open({
      env: { SIMFLEET_ENDPOINT_GLOBAL: address, SIMFLEET_AUTH_KEY: authKey, SIMFLEET_LOG_LEVEL: "trace" },
    });
    await walk.fleet("fleet.csv", 1);
    const refused = await walk.run(["apply", "fleet.csv", "--yes"]);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/simfleet: auth: not authorized \(401 ECHO: .*\[secret\]/);
    expect(found(refused.stdout + refused.stderr, [authKey])).toEqual([]);
  });
});
