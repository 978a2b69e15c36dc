/** A second account, in Japan: the profile `plant` of suites with two accounts. */
import type { SandboxOptions } from "#sandbox/options.ts";
import { startSandbox } from "#sandbox/server.ts";

export const startPlant = (more: Partial<SandboxOptions>) =>
  startSandbox({
    operatorId: "OP0000000002",
    coverageTypes: ["jp"],
    serves: ["jp"],
    periodSeconds: 2,
    seed: 7,
    authKeyId: "keyId-plant",
    authKey: "secret-plant",
    ...more,
  });
