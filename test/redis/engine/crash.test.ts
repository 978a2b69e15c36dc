/** Durable work survives a crash at any point: another process completes it, as if nothing had happened. */
import { afterAll, describe, it } from "vitest";
import { seeds } from "../../support/long.ts";
import { openTestRedis } from "../../support/redis.ts";
import { sandboxFor } from "../authkeys/key-harness.ts";
import { authKeyCases } from "./authkey-crashes.ts";
import { automationCases } from "./automation-crashes.ts";
import { surviveEachCrash } from "./crashes.ts";
import { credentialCases } from "./credential-crashes.ts";
import { deliveryCases } from "./delivery-crashes.ts";
import { fileCases } from "./file-crashes.ts";
import { scheduleCases } from "./schedule-crashes.ts";
import { syncCases } from "./sync-crashes.ts";
import { usageCases } from "./usage-crashes.ts";

const place = openTestRedis();
const sandbox = await sandboxFor({ revokeKillsPairs: true });
afterAll(() => sandbox.close());

describe("durable jobs that crash", () => {
  it.each([
    ...credentialCases(place),
    ...authKeyCases({ ...place, sandbox }),
    ...syncCases(place),
    ...usageCases(place),
    ...deliveryCases(place),
    ...scheduleCases(place),
    ...automationCases(place),
    ...fileCases(place),
  ])("$name survives a crash at any step", { timeout: 600_000 }, (one) => surviveEachCrash(one, seeds(12, 1)));
});
