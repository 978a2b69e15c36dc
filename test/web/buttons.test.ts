/**
 * Every button outside of runs that changes something, pressed as a user would: what is looked at afterwards is the
 * worker, the platform, or the endpoint of a message, never the page alone.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { openReceiver, type Receiver } from "../redis/webhooks/receiver.ts";
import { until } from "../support/until.ts";
import { confirm, type PageOptions, press } from "./support/browser.ts";
import { tokens, webhookSecret } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

let harness: WebHarness;
let receiver: Receiver;

/** Without a look at groups, so that a rotation has to be confirmed by a user. */
const deployment = "extends: soracom\noperations: { listGroups: null }\n";

const sections = `profiles:
  default: { coverage: g, credentials: { authKeyFile: auth-key } }
authKeys: { default: { sinks: [ { file: auth-key } ] } }
`;

interface Syncs {
  readonly syncs: readonly { readonly profile: string; readonly state: string; readonly sims: number }[];
}

/** Resolves when what the worker reports matches. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows the type of the report
function untilReported<T>(what: string, path: string, holds: (reported: T) => boolean): Promise<void> {
  return until(what, async () => holds(await harness.ask<T>(path)));
}

interface Reported {
  readonly name: string;
  readonly state: string;
  readonly running?: unknown;
  readonly last?: unknown;
}

function untilIs(noun: "schedules" | "automations", name: string, holds: (one: Reported) => boolean): Promise<void> {
  return untilReported<Record<string, Reported[]>>(`${name} is so`, `/v1/${noun}`, (reported) =>
    (reported[noun] ?? []).some((one) => one.name === name && holds(one)),
  );
}

interface Rotation {
  readonly state: string;
  readonly waitsFor: string | null;
  readonly credentialsId: string;
}

function untilRotationIs(holds: (rotation: Rotation) => boolean): Promise<void> {
  return untilReported<{ rotations: Rotation[] }>("the rotation has come so far", "/v1/rotations", ({ rotations }) =>
    rotations.slice(0, 1).some(holds),
  );
}

function untilWebhookIs(state: string): Promise<void> {
  return untilReported<{ webhooks: Reported[] }>(`the webhook is ${state}`, "/v1/webhooks", ({ webhooks }) =>
    webhooks.every((one) => one.state === state),
  );
}

function untilDelivered(): Promise<void> {
  const path = "/v1/deliveries?state=delivered";
  return untilReported<{ deliveries: unknown[] }>(
    "it is noted as delivered",
    path,
    ({ deliveries }) => deliveries.length > 0,
  );
}

/** A page of the dashboard. */
async function setup(path: string, { width = 1280, token = tokens.operator }: Partial<PageOptions> = {}) {
  const watched = await harness.open(path, { width, token });
  return { watched, page: watched.page };
}

describeInBrowser(
  "dashboard buttons",
  async () => {
    receiver = await openReceiver(webhookSecret);
    harness = await WebHarness.open({
      sims: 200,
      env: {
        SIMFLEET_AUTH_KEY_ID: "",
        SIMFLEET_AUTH_KEY: "",
        SIMFLEET_COVERAGE: "",
        SIMFLEET_DEPLOYMENT: "own.yaml",
      },
      writeFixtures: ({ folder, sandbox }) => {
        const { authKeyId, authKey } = sandbox.options;
        writeFileSync(`${folder}/auth-key`, JSON.stringify({ authKeyId, authKey }), { mode: 0o600 });
        writeFileSync(`${folder}/own.yaml`, deployment);
        return { webhookUrl: receiver.url, sections };
      },
    });
    return harness;
  },
  () => {
    afterAll(() => receiver[Symbol.asyncDispose]());

    it("a button rotates a secret, and another confirms that nothing uses the old one", async () => {
      const { page } = await setup("/#/credentials", { token: tokens.admin });
      await press(page, "Rotate mqtt", "Rotate");
      await untilRotationIs(({ state, waitsFor }) => state === "created" && waitsFor === "confirmation");
      const { credentials } = harness.cli.sandbox.state;
      const [made] = credentials.all.filter(({ credentialsId }) => credentialsId.startsWith("mqtt-"));
      const key = readFileSync(harness.cli.path("mqtt-psk"), "utf8");
      expect(credentials.secretOf(made?.credentialsId ?? "")).toEqual({ key });

      await press(page, "Confirm mqtt", "Not referenced");
      await untilRotationIs(
        ({ state, credentialsId }) => state === "switched" && credentialsId === made?.credentialsId,
      );
    });

    it.each([
      ["schedules", "nightly-sync"],
      ["automations", "new-sims-slow"],
    ] as const)("buttons of %s pause and resume %s", async (noun, name) => {
      const { watched, page } = await setup("/#/schedules");
      await untilIs(noun, name, ({ state }) => state === "active");
      await page.getByRole("button", { name: `Pause ${name}` }).click();
      await untilIs(noun, name, ({ state }) => state === "paused");
      await watched.putMessageAway();
      await page.getByRole("button", { name: `Resume ${name}` }).click();
      await untilIs(noun, name, ({ state }) => state === "active");
      await watched.putMessageAway();
    });

    it("a button triggers a schedule, whose next times are shown", async () => {
      const { page } = await setup("/#/schedules");
      const row = page.getByRole("row").filter({ hasText: "nightly-sync" });
      await row.getByText("Next 5 times").click();
      await row.getByText("03:00:00 Asia/Tokyo").nth(5).waitFor();
      await press(page, "Trigger nightly-sync", "Trigger now");
      await untilReported<Syncs>("the schedule has had the fleet read", "/v1/syncs", ({ syncs }) =>
        syncs.some(({ profile, state, sims }) => profile === "default" && state === "finished" && sims === 200),
      );
      await untilIs("schedules", "nightly-sync", ({ running, last }) => running !== null || last !== null);
    });

    it("a button tests a webhook", async () => {
      const { watched, page } = await setup("/#/schedules/webhooks", { width: 360 });
      await page.getByRole("button", { name: "Test ops" }).click();
      await until("the test message has come", () =>
        receiver.received.some(({ body }) => body.type === "webhook.test"),
      );
      await watched.putMessageAway();
    });

    /** The webhook, which has stopped since its endpoint was gone; from now on that takes every message. */
    const setupStopped = async () => {
      const { watched, page } = await setup("/#/schedules/webhooks", { width: 360 });
      receiver.answerWith(() => 410);
      await harness.ask("/v1/runs", { method: "POST", csv: await harness.csv(2) });
      await untilWebhookIs("stopped");
      receiver.answerWith(() => 204);
      return { watched, page };
    };

    it("buttons resume a stopped webhook and resend a message", async () => {
      const { watched, page } = await setupStopped();
      await page.getByRole("button", { name: "Resume ops" }).click();
      await untilWebhookIs("active");
      await watched.putMessageAway();
      const refused = receiver.received.find(({ body }) => body.type.startsWith("run."));
      const count = receiver.received.length;
      await page.getByRole("button", { name: "Send again" }).last().click();
      await until("the same message has come again", () =>
        receiver.received.slice(count).some(({ id }) => id === refused?.id),
      );
      await untilDelivered();
      expect(receiver.forged).toBe(0);
    });

    interface Freeze {
      readonly ordered: { readonly by: string; readonly reason: string; readonly until: string | null } | null;
    }
    const by = "token:the-admin";
    const ordered = async () => (await harness.ask<Freeze>("/v1/freeze")).ordered;

    /** A page of an admin who has frozen all changes. */
    const setupFrozen = async () => {
      const { watched, page } = await setup("/#/schedules/freezes", { width: 360, token: tokens.admin });
      await page.getByLabel("Until", { exact: true }).fill("2099-12-31T12:00");
      await page.getByLabel("Reason", { exact: true }).fill("incident 12");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByText("This pauses 0 runs in progress.").waitFor();
      await confirm(page, "Freeze all changes");
      await until("everything is frozen", async () => (await ordered())?.reason === "incident 12");
      await watched.putMessageAway();
      return page;
    };

    /** The audit log shows the freeze and its end. */
    const seeAudited = async (page: Page) => {
      await page.goto("/#/activity/audit");
      for (const method of ["POST", "DELETE"]) {
        const entry = page.getByRole("table", { name: "Changes" }).getByRole("row", { name: `${method} /v1/freeze` });
        await entry.filter({ hasText: by }).filter({ hasText: "done 200" }).waitFor();
      }
    };

    it("a freeze cannot end in the past, and those of the configuration are listed", async () => {
      const { page } = await setup("/#/schedules/freezes", { width: 360, token: tokens.admin });
      await page.getByRole("table", { name: "Freezes of the configuration" }).getByText("year-end").waitFor();
      await page.getByLabel("Until", { exact: true }).fill("2020-01-01T00:00");
      await page.getByText("Enter a time in the future.").waitFor();
    });

    it("a button freezes all changes, and another ends the freeze, which the audit log shows", async () => {
      const page = await setupFrozen();
      expect(await ordered()).toMatchObject({ by, until: new Date("2099-12-31T12:00").toISOString() });
      await page.goto("/#/runs");
      await page.getByText("Changes are frozen").waitFor();
      await page.getByText(`${by} has frozen all changes: incident 12`, { exact: false }).first().waitFor();
      await page.getByRole("link", { name: "Freezes", exact: true }).last().click();
      await press(page, "End freeze", "End freeze");
      await until("changes continue", async () => (await ordered()) === null);
      await page.getByRole("button", { name: "Freeze all changes" }).waitFor();
      await page.goto("/#/runs");
      await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
      await page.getByText("Changes are frozen").waitFor({ state: "detached" });
      await seeAudited(page);
    });

    it("an operator sees no audit log", async () => {
      const { page } = await setup("/#/activity/audit");
      await page.getByText("Requires the role admin; yours is operator.").waitFor();
      expect(await page.getByRole("link", { name: "Audit" }).count()).toBe(0);
    });
  },
);
