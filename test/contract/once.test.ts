/** Requests that are sent again with the same Idempotency-Key. */
import { describe, expect, test, vi } from "vitest";
import { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import { answerOf, ControlHarness } from "./support/control-harness.ts";

const harness = await ControlHarness.ofFile({
  works: true,
  prepare: () =>
    Promise.resolve(
      'schedules:\n  nightly: { job: sync, cron: "0 3 * * *" }\n  weekly: { job: sync, cron: "0 4 * * 1" }\n',
    ),
});

/** Lets the process die before it sets a key or a value with this text. */
function killedAtWriting(text: string) {
  const { set } = Redis.prototype;
  return vi.spyOn(Redis.prototype, "set").mockImplementation(async function (this: Redis, ...args: unknown[]) {
    if (args.join(" ").includes(text)) throw new Error("killed");
    return Reflect.apply(set, this, args) as Promise<"OK">;
  });
}

describe("requests with an Idempotency-Key", () => {
  const runIds = async (): Promise<string[]> =>
    (await harness.runs.list({ limit: 100 })).runs.map(({ runId }) => runId);
  const start = (key: string, body: string, query = "", as = "operator"): Promise<Response> =>
    harness.upload(`/v1/runs${query}`, body, { as, headers: { "content-type": "text/csv", "idempotency-key": key } });

  const runOf = async (answer: Response) => (await answer.json()) as { runId: string };

  test("a repeated request with an Idempotency-Key is executed once and finds what the first one created", async () => {
    const before = await runIds();
    const first = await start("a", harness.csv(3));
    const again = await start("a", harness.csv(3));
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([202, null]);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([202, "true"]);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect((await runOf(again)).runId).toBe((await runOf(first)).runId);
    expect(await runIds()).toHaveLength(before.length + 1);
  });

  test("requests with one Idempotency-Key at the same time create one run, and each gets it", async () => {
    const before = await runIds();
    const answers = await Promise.all(Array.from({ length: 5 }, () => start("same-time", harness.csv(3))));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
    const found = await Promise.all(answers.map(async (answer) => (await runOf(answer)).runId));
    const created = (await runIds()).filter((runId) => !before.includes(runId));
    expect(created).toHaveLength(1);
    expect(found).toEqual(found.map(() => created[0]));
    expect(await harness.redis().keys("*:draft:*")).toEqual([]);
  });

  test("a repeated request shows its run as it is now, and says so if the run was deleted", async () => {
    const { runId } = await runOf(await start("later", harness.csv(1)));
    await harness.ended(runId);
    expect(await runOf(await start("later", harness.csv(1)))).toMatchObject({ runId, state: "completed" });
    await harness.ask(`/v1/runs/${runId}`, { as: "admin", method: "DELETE" });
    expect(await answerOf(start("later", harness.csv(1)))).toMatchObject([404, { code: "RUN_NOT_FOUND" }]);
  });

  test("a different request with a used Idempotency-Key is refused, but keys of other callers are independent", async () => {
    await start("b", harness.csv(3));
    for (const other of [await start("b", harness.csv(2)), await start("b", harness.csv(3), "?rate=5")])
      expect(await answerOf(other)).toMatchObject([422, { code: "IDEMPOTENCY_REUSED" }]);
    expect((await start("b", harness.csv(2), "", "admin")).status).toBe(202);
    const faulty = await start("ä".repeat(3), harness.csv(2)).catch(() => undefined);
    expect(faulty?.status ?? 400).toBe(400);
  });

  test("a refused request has no effect and can be corrected under the same Idempotency-Key", async () => {
    const broken = await start("c", "simId\nx\n");
    expect(broken.status).toBe(422);
    expect((await start("c", harness.csv(1))).status).toBe(202);
  });

  test("a request rejected while another one with its Idempotency-Key is in progress leads to no second run", async () => {
    const before = await runIds();
    const submit = vi.spyOn(harness.runs, "submit").mockImplementationOnce(async (...given) => {
      // A second request is rejected, and a third one creates the run, before the first one does.
      submit.mockRejectedValueOnce(new SimfleetError("REQUEST_INVALID", "rejected"));
      expect((await start("three", harness.csv(3))).status).toBe(400);
      submit.mockRestore();
      expect((await start("three", harness.csv(3))).status).toBe(202);
      return harness.runs.submit(...given);
    });
    expect((await start("three", harness.csv(3))).status).toBe(202);
    expect(await runIds()).toHaveLength(before.length + 1);
  });

  /** A request whose process dies between the commit and the response. @returns the run that it has created */
  async function startAndDie(key: string): Promise<string> {
    const before = await runIds();
    const killed = killedAtWriting('"isDone"');
    expect((await start(key, harness.csv(3))).status).toBe(500);
    killed.mockRestore();
    const [created = "", ...others] = (await runIds()).filter((runId) => !before.includes(runId));
    expect(others).toEqual([]);
    return created;
  }

  test("a request repeated after its process died finds the run that was created", async () => {
    const created = await startAndDie("d");
    const before = await runIds();
    const again = await start("d", harness.csv(3));
    expect(await answerOf(again)).toMatchObject([202, { runId: created }]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await runIds()).toEqual(before);
  });

  test("a request repeated after its process died creates no other run when its run was deleted", async () => {
    const created = await startAndDie("e");
    expect((await start("e", harness.csv(3))).status).toBe(202);
    await harness.ended(created);
    await harness.ask(`/v1/runs/${created}`, { as: "admin", method: "DELETE" });
    expect((await start("e", harness.csv(3))).status).toBe(404);
  });

  test.each([
    ["plan", "/v1/plans", 201],
    ["sync", "/v1/syncs", 202],
    ["trigger of a schedule", "/v1/schedules/nightly/trigger", 202],
  ])("an Idempotency-Key prevents a second %s", async (_, path, status) => {
    const rows = path === "/v1/plans" ? { body: harness.csv(2), headers: { "content-type": "text/csv" } } : {};
    const headers = { "idempotency-key": "others", ...rows.headers };
    const post = () => harness.ask(path, { as: "operator", method: "POST", ...rows, headers });
    const [first, again] = [await post(), await post()];
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([status, null]);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([status, "true"]);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
  });

  describe("at the same time", () => {
    const post = (path: string, key = "at-once") =>
      harness.ask(path, { as: "operator", method: "POST", headers: { "idempotency-key": key } });

    test("requests with one Idempotency-Key start a plan once, and another key never does", async () => {
      const { planId } = (await (await harness.upload("/v1/plans", harness.csv(3))).json()) as { planId: string };
      const answers = await Promise.all([1, 2, 3].map(() => post(`/v1/runs?planId=${planId}`)));
      expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
      expect(await Promise.all(answers.map(async (answer) => (await runOf(answer)).runId))).toEqual(
        Array(3).fill(planId),
      );
      const late = async () => (await post(`/v1/runs?planId=${planId}`, "late")).status;
      expect([await late(), await late()]).toEqual([409, 409]);
    });

    test("requests with one Idempotency-Key trigger a schedule once", async () => {
      const answers = await Promise.all([1, 2, 3].map(() => post("/v1/schedules/nightly/trigger")));
      expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
      expect(await harness.redis().keys("*:message:*")).toHaveLength(2); // one of the case before
    });
  });

  test("a schedule is triggered once by a request that is repeated after its process died", async () => {
    const headers = { "idempotency-key": "dies" };
    const post = () => harness.ask("/v1/schedules/weekly/trigger", { as: "operator", method: "POST", headers });
    const record = () => harness.redis().hgetall(harness.app.kernel.keys.of("schedule", "weekly"));
    const killed = killedAtWriting(":message:");
    expect((await post()).status).toBe(500);
    killed.mockRestore();
    const triggered = await record();
    expect(triggered).toMatchObject({ queued: expect.stringContaining("token:operator") as string });
    expect((await post()).status).toBe(202);
    expect(await record()).toEqual(triggered);
  });

  test("an Idempotency-Key expires after one day", async () => {
    await start("day", harness.csv(1));
    const left = await Promise.all(
      (await harness.redis().keys("*:idempotency:*")).map((key) => harness.redis().ttl(key)),
    );
    expect(Math.min(...left)).toBeGreaterThan(86_000);
  });
});
