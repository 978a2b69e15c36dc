/** Rotations of credentials, to be killed: the secret is one and the same everywhere, whatever happens. */
import { expect } from "vitest";
import { PlatformError } from "#core/errors.ts";
import type { Rotation } from "#jobs/credentials/config.ts";
import { isRotationOver } from "#jobs/credentials/rotation-machine.ts";
import type { TestRedis } from "../../support/redis.ts";
import { oldSecret, RotationHarness } from "../rotations/rotation-harness.ts";
import { afterEachWrite, type CrashCase, type CrashSubject } from "./crashes.ts";

interface Options {
  readonly rotation?: Partial<Rotation>;
  readonly faults?: Record<string, number>;
  readonly seed?: number;
  readonly prepare?: (harness: RotationHarness) => unknown;
}

async function begun(place: TestRedis, options: Options): Promise<CrashSubject> {
  const { rotation = {}, faults = {}, seed = 1, prepare } = options;
  const sandbox = { seed, faults, pageSize: 2 };
  const harness = await RotationHarness.open({ place, withWebhook: true, rotation, sandbox });
  harness.makeOldSet();
  harness.nameInGroups(harness.rotation.credentialsId);
  const configurations = JSON.stringify(harness.configurations);
  prepare?.(harness);
  for (;;) {
    // The check beforehand meets the same platform.
    const thrown: unknown = await harness.begin().catch((error: unknown) => error);
    if (!(thrown instanceof PlatformError)) break;
  }
  /** Every secret that was ever sealed. */
  const sealed = new Set<string>();
  const noteSealed = async (): Promise<void> => {
    const value = await harness.sealed().catch(() => undefined);
    if (value !== undefined) sealed.add(value);
  };
  return {
    async work(around) {
      const between = <T extends object>(name: string, thing: T): T =>
        around(name, name === "redis" ? afterEachWrite(thing, noteSealed) : thing);
      const result = await harness.work(harness.context(between));
      if (result.kind === "postponed") harness.clock.pass(result.delayMs);
    },
    state: async () => (await harness.record()).state,
    isOver: async () => isRotationOver(await harness.record()),
    checkEnd: () => endOf(harness, configurations, sealed),
  };
}

async function endOf(harness: RotationHarness, before: string, sealed: ReadonlySet<string>): Promise<string> {
  const { state, newId, oldId = "", handedTo, sealed: left } = await harness.record();
  expect(left).toBeUndefined();
  const { sets } = harness;
  const configurations = JSON.stringify(harness.configurations);
  const handed = [...new Set([...(harness.handed === undefined ? [] : [harness.handed]), ...harness.heard])];
  if (handedTo.length > 0) expect([...sealed]).toHaveLength(1);
  if (handed.length > 0) expect(handed).toEqual([...sealed]);
  if (state === "done") {
    expect(sets).toEqual({ [newId]: handed[0] });
    expect(handedTo).toHaveLength(harness.rotation.sinks.length);
    expect(configurations).toBe(before.replaceAll(`credentialsId":"${oldId}"`, `credentialsId":"${newId}"`));
    return "new secret";
  }
  expect(state).toBe("failed");
  expect(sets).toEqual({ [oldId]: oldSecret });
  expect(configurations).toBe(before);
  return "old secret";
}

/** The platform does not configure a namespace with the new set. */
function refuse(harness: RotationHarness, namespace: string): void {
  const { groups } = harness.sandbox.state;
  const configure = groups.configure.bind(groups);
  groups.configure = (groupId, name, entries) => {
    const isForward = JSON.stringify(entries).includes('Z"');
    return configure(groupId, name === namespace && isForward ? "not one" : name, entries);
  };
}

/** A process can also die just after it has saved the end. */
export const credentialCases = (place: TestRedis): readonly CrashCase[] => [
  {
    name: "a rotation of credentials by a successor",
    begin: () => begun(place, {}),
    end: "new secret",
    states: ["planned", "generated", "delivered", "created", "switched", "done"],
  },
  {
    name: "a rotation of credentials in place",
    begin: () => begun(place, { rotation: { strategy: "in-place" } }),
    end: "new secret",
    states: ["planned", "generated", "delivered", "updated", "done"],
  },
  {
    name: "a rotation of credentials whose last sink refuses",
    begin: () => begun(place, { prepare: (harness) => harness.answers.push(410) }),
    end: "old secret",
    // A process that died before it saved the rejection asks the sink again.
    otherEnds: ["new secret"],
    states: ["planned", "generated", "rolling-back", "failed"],
  },
  {
    name: "a rotation of credentials whose last group may not be changed",
    begin: () => begun(place, { prepare: (harness) => refuse(harness, "SoracomFunk") }),
    end: "old secret",
    states: ["planned", "generated", "delivered", "created", "rolling-back", "failed"],
  },
];

const faults = {
  "lost-answer": 0.1,
  truncated: 0.1,
  reset: 0.05,
  "html-502": 0.05,
  "empty-500": 0.05,
  "expire-pairs": 0.02,
};

/** With answers that are lost, sinks that reject, and a platform that stumbles. */
export function beginCredentialsBySeed(place: TestRedis, seed: number): Promise<CrashSubject> {
  return begun(place, {
    seed,
    faults,
    rotation: { strategy: seed % 4 === 0 ? "in-place" : "successor" },
    prepare: (harness) => {
      if (seed % 5 === 0) harness.answers.push(503, 503, 500, 410);
      if (seed % 7 === 0) refuse(harness, "SoracomBeam");
    },
  });
}
