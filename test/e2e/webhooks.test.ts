/**
 * Webhooks with the built command line and a real worker: what a receiver gets, what a person sees of it, and that the
 * address of a chat is known to nobody but the chat.
 */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openReceiver, type Receiver } from "../redis/webhooks/receiver.ts";
import { startPlatform } from "../unit/api/support.ts";
import { until } from "../support/until.ts";
import { found, textOf } from "./support/canary.ts";
import { CliHarness, type CliHarnessOptions } from "./support/cli-harness.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

interface Delivery {
  readonly deliveryId: string;
  readonly eventType: string;
  readonly state: string;
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastReason: string | null;
  readonly nextAttemptAt: string | null;
}
interface Webhook {
  readonly name: string;
  readonly url: string;
  readonly state: string;
  readonly reason: string | null;
  readonly pending: number;
  readonly lastDelivery: Delivery | null;
}

/** @param webhooks lines of the section */
async function open(webhooks: string, { env, ...options }: CliHarnessOptions = {}): Promise<CliHarness> {
  const harness = await CliHarness.open({
    ...options,
    env: { SIMFLEET_CONFIG: "simfleet.yaml", SIMFLEET_COVERAGE: "g", ...env },
  });
  writeFileSync(join(harness.folder, "hook-secret"), secret, { mode: 0o600 });
  writeFileSync(join(harness.folder, "simfleet.yaml"), `webhooks:\n${webhooks}`);
  return harness;
}

function opsAt(url: string): string {
  return `  ops: { url: "${url}", secretFile: hook-secret, events: ["run.*"] }\n`;
}

async function runSome(harness: CliHarness): Promise<string> {
  const file = await harness.fleet("fleet.csv", 5);
  const { code, document } = await harness.json(["apply", file, "--yes"]);
  expect(code).toBe(0);
  return document.runId;
}

async function deliveries(harness: CliHarness, ...options: string[]): Promise<Delivery[]> {
  const { document } = await harness.json<{ deliveries: Delivery[] }>(["deliveries", "list", ...options]);
  return document.deliveries;
}

async function webhook(harness: CliHarness): Promise<Webhook | undefined> {
  const { document } = await harness.json<{ webhooks: Webhook[] }>(["webhooks", "list"]);
  return document.webhooks[0];
}

function typesAt({ received }: Receiver): string[] {
  return received.map(({ body }) => body.type).toSorted();
}

test.concurrent("a completed run is reported by webhook messages that the receiver can verify", async () => {
  await using receiver = await openReceiver(secret);
  await using harness = await open(opsAt(receiver.url));
  await harness.worker();
  const runId = await runSome(harness);
  await until("both messages have come", () => receiver.received.length === 2);
  expect([typesAt(receiver), receiver.forged]).toEqual([["run.completed", "run.submitted"], 0]);
  const completed = receiver.received.find(({ body }) => body.type === "run.completed");
  expect(completed?.body.data).toMatchObject({ profile: "default", run: runId, total: "5", done: "5", failed: "0" });
  await until("both are noted", async () => (await webhook(harness))?.pending === 0);
  expect(await webhook(harness)).toMatchObject({ name: "ops", url: new URL(receiver.url).origin, state: "active" });
  const sent = await deliveries(harness, "--webhook", "ops", "--state", "delivered");
  expect(sent.map(({ eventType, attempts, lastStatus }) => [eventType, attempts, lastStatus])).toEqual([
    ["run.completed", 1, 204],
    ["run.submitted", 1, 204],
  ]);
  const [newest] = sent;
  expect(completed?.id).toBe(`msg_${newest?.deliveryId.slice("ops.".length)}`);
  const shown = await harness.run(["deliveries", "show", newest?.deliveryId ?? ""]);
  expect(shown.stdout).toMatch(new RegExp(`^deliveryId +ops.*\n(.*\n)*run +${runId}\n`));
  const unknown = await harness.json<{ error: { code: string } }>(["deliveries", "show", "ops.1-1"]);
  expect([unknown.code, unknown.document.error.code]).toEqual([2, "DELIVERY_NOT_FOUND"]);
});

test.concurrent("a receiver that was down gets its messages later, or at once when a user resends them", async () => {
  const down = await openReceiver(secret);
  const { port } = new URL(down.url);
  await down[Symbol.asyncDispose]();
  await using harness = await open(opsAt(down.url));
  const tested = await harness.run(["webhooks", "test", "ops"]);
  expect([tested.code, tested.stdout]).toEqual([
    1,
    expect.stringMatching(/^ops did not accept msg_test-.*ECONNREFUSED\n$/),
  ]);
  await harness.worker();
  await runSome(harness);
  // The second try comes after five seconds, the third after minutes.
  const twice = async (): Promise<boolean> =>
    (await deliveries(harness)).filter(({ attempts }) => attempts >= 2).length === 2;
  await until("both were tried twice", twice);
  await using receiver = await openReceiver(secret, Number(port));
  const waiting = await deliveries(harness, "--state", "pending");
  for (const { deliveryId, nextAttemptAt } of waiting) {
    expect(Date.parse(nextAttemptAt ?? "")).toBeGreaterThan(Date.now() + 60_000);
    const again = await harness.run(["deliveries", "redeliver", deliveryId]);
    expect([again.code, again.stdout, again.stderr]).toEqual([0, `Resending ${deliveryId}.\n`, ""]);
  }
  await until("both have come", () => receiver.received.length === 2);
  expect([waiting.length, typesAt(receiver)]).toEqual([2, ["run.completed", "run.submitted"]]);
});

test.concurrent("a receiver that answers 410 gets nothing more until a user resumes it", async () => {
  await using receiver = await openReceiver(secret);
  receiver.answerWith(() => 410);
  await using harness = await open(opsAt(receiver.url));
  const worker = await harness.worker();
  await runSome(harness);
  await until("it is stopped", async () => (await webhook(harness))?.state === "stopped");
  worker.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
  const before = receiver.received.length;
  await harness.worker();
  await runSome(harness);
  const listed = await harness.run(["webhooks", "list"]);
  expect(listed.stdout).toContain("\nops is stopped: it answered 410 Gone\n");
  receiver.answerWith(() => 200);
  const tested = await harness.run(["webhooks", "test", "ops"]);
  expect([tested.code, tested.stdout]).toEqual([
    0,
    expect.stringMatching(/^ops accepted msg_test-[0-9a-f]{18} with 200.\n$/),
  ]);
  expect(receiver.received.slice(before).map(({ body }) => body.type)).toEqual(["webhook.test"]);
  const [failed] = await deliveries(harness, "--state", "failed");
  const refused = await harness.json<{ error: { code: string } }>([
    "deliveries",
    "redeliver",
    failed?.deliveryId ?? "",
  ]);
  expect([refused.code, refused.document.error.code]).toEqual([2, "WEBHOOK_STOPPED"]);
  const resumed = await harness.run(["webhooks", "resume", "ops"]);
  expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringMatching(/\nops .* active /)]);
  const count = receiver.received.length;
  const runId = await runSome(harness);
  const isReported = (): boolean => receiver.received.slice(count).some(({ body }) => body.data["run"] === runId);
  await until("it is reported again", isReported);
});

/** Every file that was written, but those that hold the address on purpose: Redis's own among them. */
function textsIn(folder: string): string {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.filter(({ name }) => name !== "chat-url").map((entry) => join(entry.parentPath, entry.name));
  return paths.map(textOf).join("\n");
}

test.concurrent("a chat receives sentences, and its address is never revealed", async () => {
  await using chat = await startPlatform((_, response) => response.writeHead(500).end("no such hook"));
  const token = "T0AXQ7/B0KZJW/canary-9f8e7d6c5b4a";
  await using harness = await open(`  chat: { urlFile: chat-url, format: slack, events: ["run.completed"] }\n`, {
    isProcessPerCommand: true, // so that no command knows, and hides, what another one has as a secret
    env: { SIMFLEET_LOG_LEVEL: "trace" },
  });
  writeFileSync(join(harness.folder, "chat-url"), `${chat.url}/services/${token}\n`, { mode: 0o600 });
  const worker = await harness.worker();
  const runId = await runSome(harness);
  await until("the sentence has come", () => chat.seen.length > 0);
  expect(chat.seen[0]?.path).toBe(`/services/${token}`);
  expect(JSON.parse(chat.seen[0]?.body ?? "")).toEqual({
    text: expect.stringMatching(new RegExp(`^Run ${runId} “.*” completed: 5 of 5 rows done\\.$`)),
  });
  const said = [await harness.run(["webhooks", "list", "--json"]), await harness.run(["webhooks", "test", "chat"])];
  said.push(await harness.run(["deliveries", "list"]), await harness.run(["deliveries", "list", "--json"]));
  expect(said.map(({ code }) => code)).toEqual([0, 1, 0, 0]);
  expect(JSON.parse(said[0]?.stdout ?? "")).toMatchObject({ webhooks: [{ name: "chat", url: chat.url }] });
  expect(said[2]?.stdout).toContain("it answered 500");
  worker.kill("SIGTERM");
  said.push(await worker.ended);
  const texts = [textsIn(harness.folder), ...said.flatMap(({ stdout, stderr }) => [stdout, stderr])].join("\n");
  expect(found(texts, [token, token.slice(-12)])).toEqual([]);
});

interface NoticeEvent {
  readonly id: string;
  readonly type: string;
  readonly fields: Record<string, string>;
}

test.concurrent("the event feed can be listed and followed without missing an event", async () => {
  await using harness = await open("");
  await harness.worker();
  const before = await runSome(harness);
  const follower = harness.start(["events", "tail", "--since", "1h", "--type", "run.*", "--follow", "--json"]);
  await follower.said(/run\.completed/, "stdout");
  const after = await runSome(harness);
  await until("the end of the second run is reported", () => follower.stdout.split("\n").length > 4);
  follower.kill("SIGINT");
  const ended = await follower.ended;
  const lines = ended.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as NoticeEvent);
  expect([ended.code, lines.map(({ type, fields }) => [type, fields["run"]])]).toEqual([
    130,
    [
      ["run.submitted", before],
      ["run.completed", before],
      ["run.submitted", after],
      ["run.completed", after],
    ],
  ]);
  const { document } = await harness.json<{ events: NoticeEvent[]; nextCursor: null }>([
    "events",
    "tail",
    "--since",
    lines[1]?.id ?? "",
  ]);
  expect(document.events.filter(({ type }) => type.startsWith("run."))).toEqual(lines.slice(2));
  const last = await harness.run(["events", "tail", "--limit", "1", "--type", "run.completed"]);
  expect(last.stdout).toMatch(new RegExp(`^\\S+ \\S+  run.completed  default  .*run=${after} .*done=5 .*\n$`));
  const none = await harness.json<{ events: NoticeEvent[] }>(["events", "tail", "--type", "authkey.*"]);
  expect(none.document).toEqual({ events: [], nextCursor: null });
  const wrong = await harness.run(["events", "tail", "--type", "runs.*"]);
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining("There is no event runs.*. Did you mean run.*?"),
  ]);
});
