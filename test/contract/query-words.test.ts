/** Words and formats that the control API shares with the command line: event patterns, and ages. */
import { expect, test } from "vitest";
import { ControlHarness } from "./support/control-harness.ts";

test("events are selected by a pattern and an age, as on the command line", async () => {
  await using harness = await ControlHarness.open();
  const { feed } = harness.app.kernel;
  await feed.emit({ type: "run.stalled", profile: "default", fields: { run: "r-1", reason: "x" } });
  await feed.emit({ type: "sync.failed", profile: "default", fields: { sync: "s-1", reason: "x" } });
  const typesOf = async (query: string): Promise<string[]> => {
    const answer = await harness.ask(`/v1/events?${query}`, { as: "viewer" });
    expect(answer.status).toBe(200);
    const { events } = (await answer.json()) as { events: { type: string }[] };
    return events.map(({ type }) => type);
  };
  expect(await typesOf("type=run.*&since=90m")).toEqual(["run.stalled"]);
  expect(await typesOf("type=run.*&type=sync.failed&since=24h")).toEqual(["sync.failed", "run.stalled"]);
  expect(await typesOf("since=2100-01-01T00:00:00Z")).toEqual([]);
  const refused = await harness.ask("/v1/events?type=runs.*", { as: "viewer" });
  expect([refused.status, await refused.json()]).toMatchObject([400, { problems: [{ where: "query.type" }] }]);
});
