/** The harness about the inventory: read the fleet, find SIMs in it, see what changes, change by filter, undo. */
import { describe, expect, test, vi } from "vitest";
import type { SyncReport } from "#jobs/inventory/contract.ts";
import { column, resultRows } from "./support/results.ts";
import { CliHarness } from "./support/cli-harness.ts";

interface SimDocument {
  readonly simId: string;
  readonly speedClass: string;
}
type SimsPage = { readonly sims: SimDocument[]; readonly nextCursor: string | null };

/** A harness of this many SIMs, which has read them. */
async function setup(sims: number): Promise<CliHarness> {
  const harness = await CliHarness.open({ sims });
  expect((await harness.run(["sims", "sync"])).code).toBe(0);
  return harness;
}

describe.concurrent("the inventory", () => {
  test("the SIMs of the inventory are listed in pages, and sorted", async () => {
    await using harness = await setup(350);
    const first = await harness.json<SimsPage>(["sims", "list", "--limit", "200"]);
    const rest = ["--cursor", first.document.nextCursor ?? ""];
    const second = await harness.json<SimsPage>(["sims", "list", "--limit", "200", ...rest]);
    expect(second.document.nextCursor).toBeNull();
    const listed = [...first.document.sims, ...second.document.sims].map(({ simId }) => simId);
    // Newest first, as every list; the platform's list started with the oldest.
    expect(listed.toReversed()).toEqual(Array.from({ length: 350 }, (_, n) => harness.simId(n)));
    const sorted = await harness.json<SimsPage>(["sims", "list", "--sort", "-simId", "-n", "3"]);
    const ids = listed.toSorted().toReversed();
    expect(sorted.document.sims.map(({ simId }) => simId)).toEqual(ids.slice(0, 3));
  });

  test("a SIM of the inventory is shown, and a value that no SIM has is corrected", async () => {
    await using harness = await setup(350);
    const simId = harness.simId(7);
    const shown = await harness.json<SimDocument>(["sims", "show", simId]);
    expect(shown.document).toMatchObject({ simId, speedClass: harness.sandbox.state.speedClassOf(simId) });
    expect((await harness.run(["sims", "show", "8942310000000000000"])).code).toBe(2);
    for (const command of ["list", "count"]) {
      const found = await harness.run(["sims", command, "--where", "tags.site=Berlin"]);
      expect(found).toMatchObject({ code: 0, stderr: expect.stringContaining("Did you mean tags.site=berlin?") });
    }
  });

  test("the inventory is exported as a file that plan accepts", async () => {
    await using harness = await setup(350);
    const exported = await harness.run(["sims", "export", "-o", "fleet.csv"]);
    expect(exported.code).toBe(0);
    const rows = resultRows(await harness.read("fleet.csv"));
    expect(rows.map(({ simId }) => simId)).toEqual(Array.from({ length: 350 }, (_, n) => harness.simId(n)));
    const plan = await harness.json<{ verdicts: Record<string, number> }>(["plan", "fleet.csv"]);
    expect(plan.document.verdicts).toMatchObject({ unchanged: 350, change: 0, "not-in-inventory": 0, invalid: 0 });
  });
});

describe.concurrent("undo", () => {
  /** A run that has changed ten SIMs, of which a user changes one, and another is gone. */
  async function setupChanged() {
    const harness = await setup(60);
    const before = Array.from({ length: 10 }, (_, n) => harness.sandbox.state.speedClassOf(harness.simId(n)) ?? "");
    const given = before.map((speedClass) => (speedClass === "s1.fast" ? "s1.slow" : "s1.fast"));
    await harness.write("fleet.csv", `simId,speedClass\n${given.map((c, n) => `${harness.simId(n)},${c}\n`).join("")}`);
    const { document: run } = await harness.json(["apply", "fleet.csv", "--yes"]);
    expect(column(await harness.read(run.results ?? ""), "previousSpeedClass")).toEqual(before);
    harness.sandbox.fleet.edit(harness.simId(4), { speedClass: "s1.8xfast" });
    harness.sandbox.fleet.remove([harness.simId(6)]);
    return Object.assign(harness, { runId: run.runId, before, given });
  }

  test("an undo whose results cannot be written is not started", async () => {
    await using harness = await setupChanged();
    const { runId, changes: calls } = harness;
    const refused = await harness.run(["runs", "undo", runId, "--yes", "--out", "nowhere/undone.csv"]);
    expect(refused.stderr).toMatch(
      /^simfleet: The results cannot be written to nowhere\/undone\.csv: .*Nothing was started/,
    );
    expect([refused.code, harness.changes]).toEqual([4, calls]);
  });

  test("an undo restores what a run changed except for SIMs changed since, even before a sync", async () => {
    await using harness = await setupChanged();
    const { runId, before, given } = harness;
    const undone = await harness.json(["runs", "undo", runId, "--yes", "--out", "undone.csv"]);
    const document = { undoOf: runId, counts: { total: 10, done: 8, skipped: 2 }, results: "undone.csv" };
    const stderr = expect.stringContaining(`restores 8 of 10 rows of ${runId}.`) as string;
    expect(undone).toMatchObject({ code: 0, document, stderr });
    const now = before.map((_, n) => harness.sandbox.state.speedClassOf(harness.simId(n)));
    expect(now.toSpliced(6, 1)).toEqual(before.with(4, "s1.8xfast").toSpliced(6, 1));
    const left = resultRows(await harness.read("undone.csv")).filter(({ outcome }) => outcome === "skipped");
    expect(left.map(({ simId, reason }) => [simId, reason])).toEqual([
      [harness.simId(4), `left unchanged: it has s1.8xfast now, not ${given[4]} from the run`],
      [harness.simId(6), "left unchanged: the platform no longer lists it"],
    ]);
  });
});

test.concurrent("a sync stopped with Ctrl-C prints how to resume it", async () => {
  await using harness = await CliHarness.open({ sims: 600, pageSize: 10, latencyMs: 15 });
  await harness.redis();
  const stopped = harness.start(["sims", "sync"]);
  await vi.waitUntil(() => (harness.sandbox.state.totals.byOperation.listSims ?? 0) > 10, { timeout: 60_000 });
  stopped.child.kill("SIGINT");
  const ended = await stopped.ended;
  expect(ended.code).toBe(130);
  expect(ended.stderr).toMatch(/Nothing is lost: stopped after page \d+\. Resume with: simfleet sims sync/);
  expect((await harness.json<SyncReport>(["sims", "sync"])).document).toMatchObject({ sims: 600, pages: 60 });
});
