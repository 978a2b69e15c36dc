import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { PlatformClient } from "#api/client.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import type { Credentials } from "#config/secrets/credentials.ts";
import { loadConfig } from "#config/load.ts";
import { WatchedCredentials } from "#config/secrets/watched-credentials.ts";
import { systemClock } from "#core/time.ts";
import { startSandbox } from "#sandbox/server.ts";
import { until } from "../../support/until.ts";
import { OpenPermits } from "./support.ts";
import { authKeyFileText } from "../../support/auth-key-file.ts";

it.each([false, true])(
  "a secret file that is replaced under load fails no call (revoking ends pairs: %s)",
  async (kill) => {
    const sandbox = await startSandbox({ limits: { Sim: 100_000, Auth: 1_000 }, revokeKillsPairs: kill, latencyMs: 2 });
    const folder = mkdtempSync(join(tmpdir(), "simfleet-swap-"));
    const path = join(folder, "auth-key");
    const put = (key: { authKeyId: string; authKey: string }): void => {
      writeFileSync(`${path}.new`, authKeyFileText(key), { mode: 0o600 });
      renameSync(`${path}.new`, path);
    };
    put(sandbox.options);
    const { profiles } = loadConfig({ env: { SIMFLEET_AUTH_KEY_FILE: path } });
    const { credentials = [], secrets } = profiles.default ?? {};
    if (secrets === undefined) throw new Error("no default profile");
    const watch: WatchedCredentials = new WatchedCredentials({
      initial: credentials,
      origin: secrets,
      listener: {
        reloaded: () => void client.renewNow(),
        kept: (reason) => expect.unreachable(reason),
      },
    });
    const client: PlatformClient = new PlatformClient({
      profile: {
        name: "default",
        coverage: "g",
        wording: "sims",
      },
      brand: "Svc",
      language: "en",
      endpoints: { global: sandbox.url },
      connections: 8,
      credentials: () => watch.forms(),
      clock: systemClock,
      permits: new OpenPermits(),
      userAgent: "simfleet/test",
      onEvent: ({ type }) => {
        if (type === "renewed" && client.inUse !== undefined) watch.proven(client.inUse as Credentials);
      },
    });
    watch.start();
    onTestFinished(async () => {
      watch.stop();
      await client.close();
      await sandbox.close();
      rmSync(folder, { recursive: true });
    });

    const over = new AbortController();
    let calls = 0;
    const lane = async (n: number): Promise<void> => {
      while (!over.signal.aborted) {
        const key = sandbox.state.sims.simIdAt(n);
        await client.call(updateSimSpeedClass, { key, inputs: [calls % 2 === 0 ? "s1.slow" : "s1.fast"] });
        calls += 1;
      }
    };
    const lanes = Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(lane));
    const inUse = (): string | undefined => (client.inUse?.kind === "auth-key" ? client.inUse.authKeyId : undefined);
    let old = sandbox.options.authKeyId;
    for (let swap = 0; swap < 4; swap += 1) {
      const next = sandbox.accounts.authKeys.create(undefined);
      const before = calls;
      put(next);
      await until("the new AuthKey is in use", () => inUse() === next.authKeyId);
      sandbox.accounts.revoke(undefined, old);
      old = next.authKeyId;
      await until("calls continue", () => calls > before + 50);
    }
    over.abort();
    await lanes; // rejects with the first call that failed
    expect(watch.forms()).toHaveLength(1);
  },
);
