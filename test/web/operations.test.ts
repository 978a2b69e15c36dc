/** Operations other than the speed class, from the form to the platform, and the page of one SIM. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

let harness: WebHarness;

/** A SIM as the platform has it. */
function onPlatform(place: number): Promise<Readonly<Record<string, unknown>>> {
  return harness.ask(`/v1/sims/${harness.cli.simId(place)}/fresh`);
}

function simsAt(...places: number[]): string {
  return `simId in (${places.map((place) => harness.cli.simId(place)).join(", ")})`;
}

/** A run for the SIMs of a filter that is filled in. */
async function setup(operation: string, where: string, width: 360 | 1280) {
  const { page } = await harness.open("/#/new", { width, token: tokens.operator });
  await page.getByLabel("Operation", { exact: true }).selectOption(operation);
  await page.getByRole("radio", { name: "A filter" }).check({ force: true });
  await page.getByLabel("Filter", { exact: true }).fill(where);
  return { page, start: page.getByRole("dialog").getByRole("button", { name: "Start the run" }) };
}

/** The page of a SIM. */
async function setupSim(sim: string) {
  const watched = await harness.open(`/#/sims/${sim}`, { width: 1280, token: tokens.operator });
  return { watched, page: watched.page };
}

async function previewed(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("table", { name: "Rows of the plan" }).waitFor();
}

/** Waits for the page of a run that is completed, which says what it does. */
async function untilCompleted(page: Page, summary: string): Promise<void> {
  await page.waitForURL(/#\/runs\/r-/);
  await page.getByText("completed", { exact: true }).waitFor();
  await page.getByText(summary).waitFor();
}

/** Types how many SIMs are changed, and presses Enter. */
async function enterNumber(page: Page, number: string): Promise<void> {
  await page.getByLabel("Number of SIMs").fill(number);
  await page.keyboard.press("Enter");
}

describeInBrowser(
  "an operation",
  async () => {
    harness = await WebHarness.open({ records: "soracom", sims: 40, periodSeconds: 1 });
    const { fleet } = harness.cli.sandbox;
    for (const place of [20, 21]) fleet.edit(harness.cli.simId(place), { terminationEnabled: true, status: "active" });
    for (const place of [1, 2]) fleet.edit(harness.cli.simId(place), { status: "active", groupId: null });
    await harness.sync();
    return harness;
  },
  () => {
    it("an operation runs for the SIMs of a filter with an entered value", async () => {
      const groupId = harness.cli.sandbox.state.groups.all[1]?.groupId ?? "";
      const { page, start } = await setup("set-group", simsAt(1, 2), 360);
      await page.getByText("Put the SIM into a group.").waitFor();
      const preview = page.getByRole("button", { name: "Preview" });
      expect(await preview.getAttribute("title")).toBe("Enter a value for groupId.");
      await page.getByLabel("groupId", { exact: true }).fill(groupId);
      await previewed(page);
      await page.getByRole("button", { name: "Start the run" }).click();
      await page.getByText("and undo it later").waitFor();
      await start.click();
      await untilCompleted(page, "(Put the SIM into a group)");
      expect((await onPlatform(1)).groupId).toBe(groupId);
    });

    it("an irreversible operation starts only with the typed number of SIMs", async () => {
      const { page, start } = await setup("terminate", simsAt(20, 21), 1280);
      await page.getByText("Irreversible: to confirm, type the number of SIMs.").waitFor();
      await previewed(page);
      await page.getByText("The change of 2 SIMs is irreversible.").waitFor();
      await page.getByRole("button", { name: "Start the run" }).click();
      for (const wrong of ["", "3"]) {
        await enterNumber(page, wrong);
        expect(await start.getAttribute("aria-disabled")).toBe("true");
      }
      await enterNumber(page, "2");
      await untilCompleted(page, "(Terminate the SIM forever");
      const statuses = await Promise.all([20, 21].map(async (place) => (await onPlatform(place)).status));
      expect(statuses).toEqual(["terminated", "terminated"]);
    });

    it("a run links to the page of its SIM, whose timeline names the run", async () => {
      const sim = harness.cli.simId(5);
      const csv = `simId,speedClass\n${sim},s1.fast\n`;
      const { runId } = await harness.ask<{ runId: string }>("/v1/runs?name=faster", { method: "POST", csv });
      const { page } = await harness.open(`/#/runs/${runId}`, { width: 1280, token: tokens.operator });
      await page.getByRole("link", { name: sim }).click();
      await page.getByRole("heading", { name: `SIM ${sim}`, level: 1 }).waitFor();
      await page.getByRole("table", { name: "Timeline" }).getByRole("link", { name: "faster" }).waitFor();
    });

    it("the page of a SIM shows where the platform's record differs, and leads to a run", async () => {
      const sim = harness.cli.simId(6);
      harness.cli.sandbox.fleet.edit(sim, { tags: { site: "osaka" } });
      const { page } = await setupSim(sim);
      const fields = page.getByRole("table", { name: "Fields", exact: true });
      // The buttons move when the SIM is there, and a click that they move away from is lost.
      await fields.getByRole("row").nth(1).waitFor();
      await page.getByRole("button", { name: "Read from the platform now" }).click();
      const changed = fields.getByRole("row", { name: "Tag site" });
      await changed.getByText("differs").waitFor();
      expect(await changed.textContent()).toContain("osaka");
      await page.getByRole("link", { name: "New run for this SIM" }).click();
      expect(await page.getByLabel("Filter", { exact: true }).inputValue()).toBe(`simId=${sim}`);
    });

    it("the page of a SIM says why its status history is not available", async () => {
      const { watched, page } = await setupSim(harness.cli.simId(5));
      await page.getByRole("table", { name: "Fields", exact: true }).getByRole("row").nth(1).waitFor();
      await page.route("**/statuses*", (route) => {
        const problems = [{ where: "operations.getSimStatusHistory", message: "is not in the platform definition" }];
        return route.fulfill({ status: 409, json: { code: "CONFIG_INVALID", detail: "no", problems } });
      });
      await page.getByRole("button", { name: "Read the status history" }).click();
      const missing = "the platform definition does not describe operations.getSimStatusHistory.";
      await page.getByText(`Not available: ${missing}`).waitFor();
      expect(await page.getByRole("button", { name: "Read the status history" }).count()).toBe(0);
      expect(watched.faults.splice(0)).toEqual([expect.stringContaining("statuses?profile=default answered 409")]);
    });

    it("the page of a SIM that is not known says so", async () => {
      const { watched, page } = await setupSim("8999");
      await page.getByText("This SIM is not in the inventory of the profile default").waitFor();
      expect(watched.faults.splice(0)).toEqual([expect.stringContaining("/v1/sims/8999?profile=default answered 404")]);
    });
  },
);
