/**
 * Every button outside of runs that changes something, pressed as a user would: what is looked at afterwards is the
 * worker, the platform, or the endpoint of a message, never the page alone.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { openReceiver, type Receiver } from "../redis/webhooks/receiver.ts";
import { until } from "../support/until.ts";
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

async function yes(page: Page, button: string): Promise<void> {
  await page.getByRole("dialog").getByRole("button", { name: button, exact: true }).click();
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
      interface Rotation {
        readonly state: string;
        readonly waitsFor: string | null;
        readonly credentialsId: string;
      }
      const rotationIs = (holds: (rotation: Rotation | undefined) => boolean): Promise<void> =>
        untilReported<{ rotations: Rotation[] }>("the rotation has come so far", "/v1/rotations", ({ rotations }) =>
          holds(rotations[0]),
        );
      const { page } = await harness.page({ width: 1280, token: tokens.admin });
      await page.goto("/#/credentials");
      await page.getByRole("button", { name: "Rotate mqtt" }).click();
      await yes(page, "Rotate");
      await rotationIs((now) => now?.state === "created" && now.waitsFor === "confirmation");
      const { credentials } = harness.cli.sandbox.state;
      const [made] = credentials.all.filter(({ credentialsId }) => credentialsId.startsWith("mqtt-"));
      expect(credentials.secretOf(made?.credentialsId ?? "")).toEqual({
        key: readFileSync(harness.cli.path("mqtt-psk"), "utf8"),
      });

      await page.getByRole("button", { name: "Confirm mqtt" }).click();
      await yes(page, "Not referenced");
      await rotationIs((now) => now?.state === "switched" && now.credentialsId === made?.credentialsId);
    });

    it("buttons pause, resume, and trigger a schedule and pause and resume an automation", async () => {
      interface Reported {
        readonly name: string;
        readonly state: string;
        readonly running?: unknown;
        readonly last?: unknown;
      }
      const are = (noun: "schedules" | "automations", name: string, holds: (one: Reported) => boolean): Promise<void> =>
        untilReported<Record<string, Reported[]>>(`${name} is so`, `/v1/${noun}`, (reported) =>
          (reported[noun] ?? []).some((one) => one.name === name && holds(one)),
        );
      const watched = await harness.page({ width: 1280, token: tokens.operator });
      const { page } = watched;
      await page.goto("/#/schedules");
      const row = page.getByRole("row").filter({ hasText: "nightly-sync" });
      await row.getByText("Next 5 times").click();
      await row.getByText("03:00:00 Asia/Tokyo").nth(5).waitFor();
      for (const [noun, name] of [
        ["schedules", "nightly-sync"],
        ["automations", "new-sims-slow"],
      ] as const) {
        await are(noun, name, ({ state }) => state === "active");
        await page.getByRole("button", { name: `Pause ${name}` }).click();
        await are(noun, name, ({ state }) => state === "paused");
        await watched.putMessageAway();
        await page.getByRole("button", { name: `Resume ${name}` }).click();
        await are(noun, name, ({ state }) => state === "active");
        await watched.putMessageAway();
      }
      await page.getByRole("button", { name: "Trigger nightly-sync" }).click();
      await yes(page, "Trigger now");
      await untilReported<Syncs>("the schedule has had the fleet read", "/v1/syncs", ({ syncs }) =>
        syncs.some(({ profile, state, sims }) => profile === "default" && state === "finished" && sims === 200),
      );
      await are("schedules", "nightly-sync", ({ running, last }) => running !== null || last !== null);
    });

    it("buttons test a webhook, resume a stopped one, and resend a message", async () => {
      const untilIs = (state: string): Promise<void> =>
        untilReported<{ webhooks: { state: string }[] }>(`the webhook is ${state}`, "/v1/webhooks", ({ webhooks }) =>
          webhooks.every((one) => one.state === state),
        );
      const watched = await harness.page({ width: 360, token: tokens.operator });
      const { page } = watched;
      await page.goto("/#/schedules/webhooks");
      await page.getByRole("button", { name: "Test ops" }).click();
      await until("the test message has come", () =>
        receiver.received.some(({ body }) => body.type === "webhook.test"),
      );
      await watched.putMessageAway();

      receiver.answerWith(() => 410);
      await harness.ask("/v1/runs", {
        method: "POST",
        csv: await harness.cli.read(await harness.cli.fleet("two.csv", 2)),
      });
      await untilIs("stopped");
      receiver.answerWith(() => 204);
      await page.getByRole("button", { name: "Resume ops" }).click();
      await untilIs("active");
      await watched.putMessageAway();

      const refused = receiver.received.find(({ body }) => body.type.startsWith("run."));
      const count = receiver.received.length;
      await page.getByRole("button", { name: "Send again" }).last().click();
      await until("the same message has come again", () =>
        receiver.received.slice(count).some(({ id }) => id === refused?.id),
      );
      await untilReported<{ deliveries: unknown[] }>(
        "it is noted as delivered",
        "/v1/deliveries?state=delivered",
        ({ deliveries }) => deliveries.length > 0,
      );
      expect(receiver.forged).toBe(0);
    });

    it("a button freezes all changes and ends the freeze, and only an admin sees the audit entries", async () => {
      interface Freeze {
        readonly ordered: { readonly by: string; readonly reason: string; readonly until: string | null } | null;
      }
      const watched = await harness.page({ width: 360, token: tokens.admin });
      const { page } = watched;
      await page.goto("/#/schedules/freezes");
      await page.getByRole("table", { name: "Freezes of the configuration" }).getByText("year-end").waitFor();
      await page.getByLabel("Until", { exact: true }).fill("2020-01-01T00:00");
      await page.getByText("Enter a time in the future.").waitFor();
      await page.getByLabel("Until", { exact: true }).fill("2099-12-31T12:00");
      await page.getByLabel("Reason", { exact: true }).fill("incident 12");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByText("This pauses 0 runs in progress.").waitFor();
      await yes(page, "Freeze all changes");
      const by = "token:the-admin";
      await untilReported<Freeze>(
        "everything is frozen",
        "/v1/freeze",
        ({ ordered }) => ordered?.reason === "incident 12",
      );
      expect((await harness.ask<Freeze>("/v1/freeze")).ordered).toMatchObject({
        by,
        until: new Date("2099-12-31T12:00").toISOString(),
      });
      await watched.putMessageAway();

      await page.goto("/#/runs");
      await page.getByText("Changes are frozen").waitFor();
      await page.getByText(`${by} has frozen all changes: incident 12`, { exact: false }).first().waitFor();
      await page.getByRole("link", { name: "Freezes", exact: true }).last().click();
      await page.getByRole("button", { name: "End freeze", exact: true }).click();
      await yes(page, "End freeze");
      await untilReported<Freeze>("changes continue", "/v1/freeze", ({ ordered }) => ordered === null);
      await page.getByRole("button", { name: "Freeze all changes" }).waitFor();
      await page.goto("/#/runs");
      await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
      await page.getByText("Changes are frozen").waitFor({ state: "detached" });

      await page.goto("/#/activity/audit");
      for (const method of ["POST", "DELETE"]) {
        const entry = page.getByRole("table", { name: "Changes" }).getByRole("row", { name: `${method} /v1/freeze` });
        await entry.filter({ hasText: by }).filter({ hasText: "done 200" }).waitFor();
      }

      const others = await harness.page({ width: 1280, token: tokens.operator });
      await others.page.goto("/#/activity/audit");
      await others.page.getByText("Requires the role admin; yours is operator.").waitFor();
      expect(await others.page.getByRole("link", { name: "Audit" }).count()).toBe(0);
      await others.page.getByRole("link", { name: "Schedules" }).click();
      const off = others.page.getByRole("button", { name: "Freeze all changes" });
      expect(await off.getAttribute("aria-disabled")).toBe("true");
    });
  },
);
