/**
 * Webhooks with the built command line and a real worker: what an endpoint gets, what a user sees of it, and that the
 * address of a chat is known to nobody but the chat.
 */
import { expect, onTestFinished, test } from "vitest";
import type { DeliveryReport, WebhookReport } from "#jobs/webhooks/contract.ts";
import { openReceiver, type Receiver } from "../redis/webhooks/receiver.ts";
import { startPlatform } from "../unit/api/support.ts";
import { until } from "../support/until.ts";
import { found, textsIn } from "./support/canary.ts";
import type { Ended } from "./support/process.ts";
import { CliHarness, type CliHarnessOptions } from "./support/cli-harness.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const list = ["webhooks", "deliveries", "list"];

/** @param webhooks lines of the section */
function setup(webhooks: string, { env, ...options }: CliHarnessOptions = {}): Promise<CliHarness> {
  return CliHarness.open({
    config: `webhooks:\n${webhooks}`,
    secretFiles: { "hook-secret": secret },
    env: { SIMFLEET_COVERAGE: "g", ...env },
    ...options,
  });
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

async function deliveries(harness: CliHarness, ...options: string[]): Promise<DeliveryReport[]> {
  const { document } = await harness.json<{ deliveries: DeliveryReport[] }>([...list, ...options]);
  return document.deliveries;
}

async function webhook(harness: CliHarness): Promise<WebhookReport | undefined> {
  const { document } = await harness.json<{ webhooks: WebhookReport[] }>(["webhooks", "list"]);
  return document.webhooks[0];
}

function typesAt({ received }: Receiver): string[] {
  return received.map(({ body }) => body.type).toSorted();
}

/** A run of which a worker has sent both messages. @returns its id */
async function reportRun(harness: CliHarness, receiver: Receiver): Promise<string> {
  await harness.worker();
  const runId = await runSome(harness);
  await until("both messages have come", () => receiver.received.length === 2);
  await until("both are noted", async () => (await webhook(harness))?.pending === 0);
  return runId;
}

test.concurrent("a completed run is reported by webhook messages that the endpoint can verify", async () => {
  await using receiver = await openReceiver(secret);
  await using harness = await setup(opsAt(receiver.url));
  const runId = await reportRun(harness, receiver);
  expect([typesAt(receiver), receiver.forged]).toEqual([["run.completed", "run.submitted"], 0]);
  const completed = receiver.received.find(({ body }) => body.type === "run.completed");
  expect(completed?.body.data).toMatchObject({ profile: "default", run: runId, total: "5", done: "5", failed: "0" });
  const [newest] = await deliveries(harness);
  expect(completed?.id).toBe(`msg_${newest?.deliveryId.slice("ops.".length)}`);
});

test.concurrent("the deliveries of a webhook are listed and shown", async () => {
  await using receiver = await openReceiver(secret);
  await using harness = await setup(opsAt(receiver.url));
  const runId = await reportRun(harness, receiver);
  expect(await webhook(harness)).toMatchObject({ name: "ops", url: new URL(receiver.url).origin, state: "active" });
  const sent = await deliveries(harness, "--webhook", "ops", "--state", "delivered");
  expect(sent.map(({ eventType, attempts, lastStatus }) => [eventType, attempts, lastStatus])).toEqual([
    ["run.completed", 1, 204],
    ["run.submitted", 1, 204],
  ]);
  const shown = await harness.run(["webhooks", "deliveries", "show", sent[0]?.deliveryId ?? ""]);
  expect(shown.stdout).toMatch(new RegExp(`^deliveryId +ops.*\n(.*\n)*run +${runId}\n`));
  const unknown = await harness.json<{ error: { code: string } }>(["webhooks", "deliveries", "show", "ops.1-1"]);
  expect([unknown.code, unknown.document.error.code]).toEqual([2, "DELIVERY_NOT_FOUND"]);
});

const token = "T0AXQ7/B0KZJW/canary-9f8e7d6c5b4a";

/** A chat whose address has a token, and which has refused the sentence about a run. */
async function setupChat() {
  const chat = await startPlatform((_, response) => response.writeHead(500).end("no such hook"));
  onTestFinished(() => chat[Symbol.asyncDispose]());
  const harness = await setup(`  chat: { urlFile: chat-url, format: slack, events: ["run.completed"] }\n`, {
    secretFiles: { "chat-url": `${chat.url}/services/${token}\n` },
    isProcessPerCommand: true, // so that no command knows, and hides, what another one has as a secret
    env: { SIMFLEET_LOG_LEVEL: "trace" },
  });
  const worker = await harness.worker();
  const runId = await runSome(harness);
  await until("the sentence has come", () => chat.seen.length > 0);
  return Object.assign(harness, { chat, runId, stop: () => worker.end() });
}

test.concurrent("a chat receives sentences at its address", async () => {
  await using harness = await setupChat();
  const [seen] = harness.chat.seen;
  expect(seen?.path).toBe(`/services/${token}`);
  const text = `^Run ${harness.runId} “.*” completed: 5 of 5 rows done\\.$`;
  expect(JSON.parse(seen?.body ?? "")).toEqual({ text: expect.stringMatching(new RegExp(text)) });
});

test.concurrent("the address of a chat is never revealed", async () => {
  await using harness = await setupChat();
  const said: Ended[] = [];
  for (const words of [["webhooks", "list", "--json"], ["webhooks", "test", "chat"], list, [...list, "--json"]])
    said.push(await harness.run(words));
  expect(said.map(({ code }) => code)).toEqual([0, 1, 0, 0]);
  expect(JSON.parse(said[0]?.stdout ?? "")).toMatchObject({ webhooks: [{ name: "chat", url: harness.chat.url }] });
  expect(said[2]?.stdout).toContain("it returned 500");
  said.push(await harness.stop());
  const files = await textsIn(harness.folder, (path) => path === "chat-url");
  const texts = [files, ...said.flatMap(({ stdout, stderr }) => [stdout, stderr])].join("\n");
  expect(found(texts, [token, token.slice(-12)])).toEqual([]);
});
