import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";
import type { RunningProcess } from "./support/process.ts";

/** The address in the log, once the gateway is ready. */
async function addressOf(running: RunningProcess): Promise<string> {
  const found = (): string | undefined => /"gateway":"([^"]+)"/.exec(running.stderr)?.[1];
  await until("the gateway is ready", () => found() !== undefined);
  return found() ?? "";
}

describe("processes that serve the gateway", () => {
  it("the command gateway serves calls without credentials of the caller, counts them, and ends on SIGTERM", async () => {
    await using cli = await CliHarness.open();
    const running = cli.start(["gateway"], { SIMFLEET_GATEWAY_PORT: "0" });
    const address = await addressOf(running);
    const answered = await fetch(`${address}/v1/sims?limit=3`, { headers: { "x-simfleet-caller": "terraform" } });
    expect([answered.status, ((await answered.json()) as unknown[]).length]).toEqual([200, 3]);
    const metrics = async (): Promise<string> => (await fetch(`${address}/metrics`)).text();
    const counted = 'simfleet_gateway_calls_total{caller="terraform",status="200"} 1';
    await until("the call is counted", async () => (await metrics()).includes(counted));
    expect(await metrics()).toMatch(/^simfleet_calls_total\{quota="[^"]*Sim"\} 1$/m);
    expect((await fetch(`${address}/readyz`)).status).toBe(200);
    expect((await running.end()).code).toBe(0);
  });

  it("a worker with a port serves the gateway as well", async () => {
    await using cli = await CliHarness.open();
    const running = await cli.worker({ SIMFLEET_GATEWAY_PORT: "0" });
    const answered = await fetch(`${await addressOf(running)}/v1/sims?limit=3`);
    expect(answered.status).toBe(200);
    await answered.text();
    expect((await running.end()).code).toBe(0);
  });
});
