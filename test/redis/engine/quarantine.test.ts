/** What becomes of work that has killed three workers, and how a user continues it. */
import { afterAll, expect, it, onTestFinished } from "vitest";
import { systemClock } from "#core/time.ts";
import { type PoisonGuard, quarantined } from "#engine/poison-guard.ts";
import { beforeAll, Feed } from "#events/feed.ts";
import type { Automation } from "#jobs/automations/config.ts";
import { everySim } from "#fleet/filter.ts";
import { automationLog } from "#jobs/automations/record.ts";
import { type AutomationDeps, actOn } from "#jobs/automations/service.ts";
import { reportOfRotation as reportOfKeyRotation } from "#jobs/authkeys/open.ts";
import { rotationLog } from "#jobs/credentials/record.ts";
import { CredentialService, reportOfRotation } from "#jobs/credentials/open.ts";
import { statusOf } from "#jobs/credentials/work.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { syncInventory } from "#jobs/inventory/work.ts";
import { reportOfSync } from "#jobs/inventory/service.ts";
import { openTestRedis } from "../../support/redis.ts";
import { KeyHarness, sandboxFor } from "../authkeys/key-harness.ts";
import { FleetHarness } from "../inventory/fleet-harness.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { RotationHarness } from "../rotations/rotation-harness.ts";
import { ScheduleDeps } from "../schedules/schedule-harness.ts";
import { FolderHarness, settleMs } from "../../unit/jobs/drop-folder/folder-harness.ts";
import { DeliveryDeps, eventOf, webhookOf } from "../webhooks/delivery-harness.ts";
import { noGuard } from "../../support/no-guard.ts";
import { openGuards } from "./deaths.ts";

const place = openTestRedis();
const reason = "stopped: its worker crashed three times while processing this";
/** Three processes have died with whatever it is asked for. */
const deadly: PoisonGuard = { ...noGuard, run: () => Promise.resolve(quarantined) };
const sandbox = await sandboxFor();
afterAll(() => sandbox.close());

async function reported(profile: string): Promise<unknown[]> {
  const feed = new Feed({ ...place, clock: systemClock, bounds: keptBounds });
  const { events } = await feed.after(beforeAll, 10_000);
  return events.filter((event) => event.profile === profile && event.fields.reason === reason).map(({ type }) => type);
}

/** A rotation of credentials that has been quarantined. */
async function setupRotation() {
  const harness = await RotationHarness.open({ place });
  harness.makeOldSet();
  await harness.begin();
  const context = harness.context();
  expect(await harness.work({ ...context, guard: deadly })).toEqual({ kind: "ended" });
  return { harness, context };
}

it("a rotation of credentials that was quarantined waits, and shows why", async () => {
  const { harness, context } = await setupRotation();
  const record = await harness.record();
  const message = `${reason}; continue with: simfleet credentials rotate ${record.name}`;
  const report = reportOfRotation(record, { rotation: harness.rotation, record, nowMs: harness.clock.wallMs() });
  expect(report).toMatchObject({ state: "planned", waitsFor: "quarantined", reason: message, nextAt: null });
  expect(report.problem).toMatchObject({ message, nextAttemptAt: null });
  expect(await reported(harness.profile)).toEqual(["credential.quarantined"]);
  harness.clock.pass(86_400_000);
  expect(await statusOf(harness.profile, context)).toBe("none");
  await harness.work(context);
  expect((await harness.record()).state).toBe("planned");
});

it("a rotation of credentials that was quarantined completes after its release", async () => {
  const { harness, context } = await setupRotation();
  const record = await harness.record();
  harness.clock.pass(86_400_000);
  const log = rotationLog({ ...place, bounds: keptBounds });
  expect(await log.release(record)).toMatchObject({ state: "planned" });
  expect(await statusOf(harness.profile, context)).toBe("due");
  expect((await harness.workToEnd()).state).toBe("done");
});

/** What commands and schedules reach of a rotation. */
function serviceOf({ rotation, clock, key }: RotationHarness): CredentialService {
  const kernel = {
    ...place,
    bounds: keptBounds,
    clock,
    workerRegistry: openWorkerRegistry(place),
    lifecycle: { onStop: (_: string, stop: () => Promise<void>) => onTestFinished(stop) },
    config: { seal: { key }, unread: [] },
  } as unknown as Kernel;
  return new CredentialService(kernel, { [rotation.name]: rotation });
}

it("a rotation that was quarantined is continued by a request of a person, not by that of a schedule", async () => {
  const { harness } = await setupRotation();
  const [service, { name }] = [serviceOf(harness), harness.rotation];
  const { signal } = new AbortController();
  expect((await service.rotate(name, { by: "schedule:monthly", signal })).waitsFor).toBe("quarantined");
  expect((await service.rotate(name, { by: "cli:anna", signal })).waitsFor).toBeNull();
});

it("a rotation of an AuthKey that was quarantined waits, shows why, and completes after its release", async () => {
  const harness = new KeyHarness({ ...place, sandbox, who: "root" });
  await harness.begin();
  harness.change = (deps) => ({ ...deps, guard: deadly });
  const record = await harness.live();
  const message = `${reason}; continue with: simfleet authkeys rotate`;
  const report = reportOfKeyRotation(record, 0);
  expect(report).toMatchObject({ state: "begun", now: message, problem: { message, nextAttemptAt: null } });
  expect(await reported(harness.profile)).toEqual(["authkey.quarantined"]);
  harness.change = (deps) => deps;
  expect((await harness.live()).state).toBe("begun");
  await harness.rotations.release({ name: harness.profile, profile: harness.profile });
  expect(reportOfKeyRotation(await harness.record(), 0).problem).toBeUndefined();
  expect((await harness.live()).state).toBe("done");
});

it("a sync that is quarantined fails with the reason, and the next one starts over", async () => {
  const fleet = await FleetHarness.open(place, { sims: 20 });
  await fleet.begin();
  const { syncs, inventory } = fleet;
  const context = { syncs, inventory, clock: systemClock, guard: deadly, account: () => fleet.account };
  await syncInventory(fleet.profile, context, new AbortController().signal);
  expect(reportOfSync(await fleet.state())).toMatchObject({ state: "failed", reason });
  expect(await reported(fleet.profile)).toEqual(["sync.failed"]);
  expect((await fleet.sync()).state).toMatchObject({ phase: "finished", sims: 20 });
});

it("a schedule whose task kills three workers is paused, and shows why", async () => {
  const { open, dieThrice } = openGuards(place);
  const harness = new ScheduleDeps(place, "2026-11-22T02:59:00Z", { cron: "0 3 * * *" });
  await harness.poll();
  harness.nowMs = Date.parse("2026-11-22T03:00:00Z");
  await dieThrice((guard, here) => {
    harness.tasks.begin = here;
    return harness.poll({ ...harness.context, guard });
  });
  await harness.poll({ ...harness.context, guard: open() });
  expect(await harness.record()).toMatchObject({ paused: { by: "simfleet" }, last: { result: "failed", reason } });
  expect((await harness.record()).execution).toBeUndefined();
  const types = ["schedule.failed", "schedule.failing", "schedule.paused"];
  expect(await harness.events()).toMatchObject(types.map((type) => ({ type, fields: { reason } })));
});

it("a delivery that kills three workers fails, and can be sent again", async () => {
  const guards = openGuards(place);
  const harness = new DeliveryDeps(guards, [webhookOf("ops")]);
  const { id } = eventOf(1);
  await harness.begin(eventOf(1));
  await guards.dieThrice((guard, here) => {
    harness.change = (context) => ({ ...context, guard, sender: { send: here } });
    return harness.attempt("ops", id);
  });
  harness.change = (context) => ({ ...context, guard: guards.open() });
  await harness.attempt("ops", id);
  expect(await harness.delivery("ops", id)).toMatchObject({ state: "failed", lastReason: reason });
  expect(await harness.reported()).toMatchObject([{ type: "webhook.failed", reason }]);
  await harness.log.redeliver(`ops.${id}`);
});

const watching = { condition: everySim, maxPerHour: 9 };
const noSims = { inventory: { store: { lookUp: () => Promise.resolve([]) } }, keyColumnOf: () => "simId" };

/** An automation with an event that it acts on. */
function setupAutomation({ redis, keys }: ReturnType<typeof openGuards>) {
  const log = automationLog({ redis, keys, bounds: keptBounds });
  const profile = "default";
  const action = { job: "sync", profile } as const;
  const automation: Automation = { ...watching, name: "syncs", profile, on: ["sync.completed"], action };
  const event = { id: "1790000000000-1", type: "sync.completed", atMs: 1, profile, fields: {} } as const;
  const act = (guard: PoisonGuard, begin: () => Promise<never>): Promise<unknown> => {
    const deps = { ...noSims, redis, keys, log, guard, clock: systemClock, tasks: { begin } };
    return actOn(automation, [event], deps as unknown as AutomationDeps);
  };
  const feed = new Feed({ redis, keys, clock: systemClock, bounds: keptBounds });
  return { log, automation, act, feed };
}

it("an automation whose task kills three workers is stopped, and shows why", async () => {
  const guards = openGuards(place);
  const { log, automation, act, feed } = setupAutomation(guards);
  await guards.dieThrice(act);
  await act(guards.open(), () => expect.unreachable("it was begun again"));
  expect(await log.record(automation)).toMatchObject({ state: "stopped", reason });
  const { events } = await feed.after(beforeAll, 10);
  expect(events).toMatchObject([{ type: "automation.stopped", fields: { reason } }]);
});

/** A worker of its own looks at the folder three times. */
async function pollThrice(harness: FolderHarness, guard: PoisonGuard): Promise<void> {
  const worker = harness.worker(guard);
  for (let round = 0; round < 3; round += 1) await harness.fingerprint(settleMs, worker);
}

it("a file of a drop folder that kills three workers is moved to failed/", async () => {
  const { open, dieThrice } = openGuards(place);
  const harness = new FolderHarness();
  harness.write("fleet.csv");
  await dieThrice(async (guard, here) => {
    harness.runs.submit = here;
    await pollThrice(harness, guard);
  });
  harness.runs.submit = () => expect.unreachable("it was submitted again");
  await pollThrice(harness, open());
  const [failed, processing] = [harness.files("failed"), harness.files("processing")];
  expect({ failed, processing }).toEqual({ failed: ["fleet.RUN.csv", "fleet.RUN.problem.txt"], processing: [] });
  expect(harness.runs.reported).toEqual(["file.taken fleet.csv", `file.rejected fleet.csv ${reason}`]);
});
