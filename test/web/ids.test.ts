/** Every id that a view shows is a link with a button that copies it. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { until } from "../support/until.ts";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

let harness: WebHarness;
let runId: string;
let syncId: string;
let groupId: string;

interface Credentials {
  readonly rotations: readonly { readonly rotationId: string | null; readonly state: string }[];
}

/** A named run, one without a name that moves a SIM to a group, changes that a sync found, and a rotation. */
async function fill(): Promise<void> {
  const { sandbox } = harness.cli;
  const [first, second, third] = [0, 1, 2].map((place) => harness.cli.simId(place));
  groupId = sandbox.state.groups.all[0]?.groupId ?? "";
  const csv = `simId,groupId\n${first},${groupId}\n`;
  ({ runId } = await harness.ask<{ runId: string }>("/v1/runs?operation=set-group", { method: "POST", csv }));
  await harness.ask("/v1/runs?name=faster", { method: "POST", csv: `simId,speedClass\n${second},s1.4xfast\n` });
  sandbox.fleet.edit(third ?? "", { groupId });
  await harness.sync();
  const { syncs } = await harness.ask<{ syncs: { syncId: string }[] }>("/v1/syncs");
  syncId = syncs[0]?.syncId ?? "";
  await harness.ask("/v1/rotations/mqtt/rotate", { method: "POST" });
  await until("the rotation has an id", async () => {
    const { rotations } = await harness.ask<Credentials>("/v1/rotations");
    return (rotations[0]?.rotationId ?? null) !== null;
  });
}

async function allIds(): Promise<string[]> {
  const sims = await harness.ask<{ sims: { simId: string; imsi: string; groupId?: string }[] }>("/v1/sims?limit=1000");
  const sets = await harness.ask<{ credentials: { credentialsId: string }[] }>("/v1/credentials");
  const keys = await harness.ask<{ authKeys: { authKeyId: string }[] }>("/v1/authkeys");
  const runs = await harness.ask<{ runs: { runId: string }[] }>("/v1/runs");
  const { rotations } = await harness.ask<Credentials>("/v1/rotations");
  const ids = [
    syncId,
    ...[0, 1, 2].map((place) => harness.cli.simId(place)),
    ...sims.sims.flatMap(({ simId, imsi, groupId: group = "" }) => [simId, imsi, group]),
    ...sets.credentials.map(({ credentialsId }) => credentialsId),
    ...keys.authKeys.map(({ authKeyId }) => authKeyId),
    ...runs.runs.map((run) => run.runId),
    ...rotations.map(({ rotationId }) => rotationId ?? ""),
  ];
  return [...new Set(ids)].filter((id) => id !== "");
}

/**
 * In the page: the ids that are seen, and the texts in which one is not a link with a button. The title of a page names the
 * object that it is about, and the path above it leads to its list; a filter is one text, and so are a
 * description and a sentence on a Credential Set, which stands below the set's link.
 */
async function idsOf(page: Page, ids: readonly string[]): Promise<{ seen: string[]; plain: string[] }> {
  return page.evaluate(`(() => {
    const ids = new Set(${JSON.stringify(ids)});
    const [seen, plain] = [new Set(), []];
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement: at, textContent: text } = walker.currentNode;
      if (at.closest("h1, nav, option, textarea, summary, .prose") !== null) continue;
      for (const word of text.split(/[^\\w-]+/)) {
        if (!ids.has(word)) continue;
        const button = at.closest(".id")?.querySelector("button.copy");
        if (at.closest("a[href]") !== null && button?.getAttribute("aria-label") === "Copy " + word) seen.add(word);
        else plain.push(text);
      }
    }
    return { seen: [...seen], plain };
  })()`);
}

describeInBrowser(
  "ids in the dashboard",
  async () => {
    harness = await WebHarness.open();
    await harness.sync();
    await fill();
    return harness;
  },
  () => {
    it("every id in every view is a link with a button that copies it", async () => {
      const ids = await allIds();
      const { page } = await harness.page({ width: 1280, token: tokens.admin });
      const sim = harness.cli.simId(0);
      /** What each view has to show before it is complete. */
      const views: Readonly<Record<string, string>> = {
        "/": "Waits for you",
        [`/#/sims?search=${sim}`]: groupId,
        [`/#/sims/${sim}`]: groupId,
        "/#/runs": runId,
        [`/#/runs/${runId}`]: sim,
        "/#/credentials": "cloud",
        "/#/activity/events": runId,
        [`/#/activity/events?cause=${syncId}`]: "changed",
        "/#/schedules": "nightly-sync",
        "/#/activity/audit": runId,
        "/#/activity": runId,
      };
      const seen = new Set<string>();
      for (const [address, shown] of Object.entries(views)) {
        await page.goto(address);
        if (address !== "/") await page.locator("main").getByText(shown).first().waitFor({ timeout: 10_000 });
        await page
          .getByText(/^Loading /)
          .first()
          .waitFor({ state: "detached" });
        const found = await idsOf(page, ids);
        expect(found.plain, address).toEqual([]);
        for (const id of found.seen) seen.add(id);
      }
      const { rotations } = await harness.ask<Credentials>("/v1/rotations");
      const expected = [sim, groupId, runId, syncId, "mqtt", "cloud", rotations[0]?.rotationId ?? ""];
      expect(expected.filter((id) => !seen.has(id))).toEqual([]);
    });
  },
);
