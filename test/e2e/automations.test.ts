/** An automation in a real worker, from the SIM that appears to the message about its run. */
import { expect, test } from "vitest";
import { openReceiver } from "../redis/webhooks/receiver.ts";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const newSimsSlow = `automations:
  new-sims-slow: { on: sim.added, where: "speedClass!=s1.minimum", job: apply, speedClass: s1.minimum }
`;

interface NoticeEvent {
  readonly id: string;
  readonly type: string;
  readonly fields: Readonly<Record<string, string>>;
}

function open(config: string): Promise<CliHarness> {
  const secretFiles = { "hook-secret": secret };
  return CliHarness.open({ sims: 20, config, secretFiles, env: { SIMFLEET_COVERAGE: "g" } });
}

/** SIMs appear on the platform, with these classes. */
function appear(harness: CliHarness, classes: readonly string[]): string[] {
  const ids = harness.sandbox.fleet.add(classes.length);
  for (const [i, id] of ids.entries()) harness.sandbox.fleet.edit(id, { speedClass: classes[i] });
  return ids;
}

async function reported(harness: CliHarness, type: string): Promise<NoticeEvent[]> {
  const args = ["events", "tail", "--since", "1h", "--type", type];
  return (await harness.json<{ events: NoticeEvent[] }>(args)).document.events;
}

test.concurrent("an automation sets the class of a new SIM, and a webhook message reports it", async () => {
  await using receiver = await openReceiver(secret);
  await using harness = await open(
    `${newSimsSlow}webhooks:
  ops: { url: "${receiver.url}", secretFile: hook-secret, events: [automation.started, run.completed] }
`,
  );
  await harness.run(["sims", "sync"]);
  await harness.worker();
  const [fast = "", slow = "", right = ""] = appear(harness, ["s1.fast", "s1.slow", "s1.minimum"]);
  expect(await harness.run(["sims", "sync"])).toMatchObject({ code: 0 });
  await until("both messages have come", () => receiver.received.length === 2);
  const bodies = Object.fromEntries(receiver.received.map(({ body }) => [body.type, body.data]));
  const run = bodies["run.completed"]?.["run"] ?? "";
  expect([receiver.forged, bodies["automation.started"]]).toMatchObject([
    0,
    { automation: "new-sims-slow", on: "sim.added", events: "2", job: "apply", cause: run },
  ]);
  expect(bodies["run.completed"]).toMatchObject({ total: "2", done: "2", failed: "0" });
  expect([fast, slow, right].map((id) => harness.sandbox.state.speedClassOf(id))).toEqual(Array(3).fill("s1.minimum"));
  expect([fast, slow, right].map((id) => harness.sandbox.state.acceptedChanges(id))).toEqual([1, 1, 0]);
  const { document } = await harness.json(["runs", "show", run]);
  expect(document).toMatchObject({ state: "completed", submittedBy: "automation:new-sims-slow" });
  const changed = await reported(harness, "sim.changed");
  expect(changed.map(({ fields }) => [fields.sim, fields.after, fields.by, fields.cause])).toEqual(
    expect.arrayContaining([
      [fast, "s1.minimum", "run", run],
      [slow, "s1.minimum", "run", run],
    ]),
  );
});

test.concurrent("an operator can see, pause, preview, and replay an automation", async () => {
  await using harness = await open(newSimsSlow);
  await harness.run(["sims", "sync"]);
  await harness.worker();
  await until("it is followed", async () => (await harness.run(["automations", "list"])).stdout.includes(" active "));
  const paused = await harness.run(["automations", "pause", "new-sims-slow"]);
  expect(paused.stdout).toMatch(
    /^AUTOMATION +ON +WHERE +DOES +STATE .*\nnew-sims-slow +sim\.added +speedClass!=s1\.minimum +set-speed-class s1\.minimum +paused /,
  );
  const [missed = ""] = appear(harness, ["s1.8xfast"]);
  await harness.run(["sims", "sync"]);
  const dry = await harness.run(["automations", "replay", "new-sims-slow", "--dry-run"]);
  expect(dry.stdout).toMatch(new RegExp(`\\S+ \\S+ +sim\\.added +${missed} +would act\n`));
  expect(dry.stderr).toContain("it would act on 1. Nothing was done.");
  expect(harness.sandbox.state.speedClassOf(missed)).toBe("s1.8xfast");
  const resumed = await harness.run(["automations", "resume", "new-sims-slow"]);
  expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringMatching(/\nnew-sims-slow .* active /)]);
  expect((await harness.run(["automations", "replay", "new-sims-slow", "--yes"])).code).toBe(0);
  await until("it is changed", () => harness.sandbox.state.speedClassOf(missed) === "s1.minimum");
});
