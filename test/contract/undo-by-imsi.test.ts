/** Runs of operations whose calls or files name SIMs by their IMSI, and their undo. */
import { expect, onTestFinished, test } from "vitest";
import type { RunReport } from "#jobs/runs/contract.ts";
import { openWorker, type RunRequests } from "./support/run-requests.ts";

/** The operation of the interface's earlier wording, whose path has the IMSI. */
const setClass = {
  summary: "Set the speed class by IMSI",
  method: "POST",
  path: "/v1/subscribers/{imsi}/update_speed_class",
  group: "Subscriber",
  input: { speedClass: { required: true } },
  body: { speedClass: "{speedClass}" },
  statuses: [200],
  answer: "record",
  sets: { speedClass: "{speedClass}" },
  repeat: "safe",
  undo: { operation: "set-class-by-imsi", set: { speedClass: "{before.speedClass}" } },
};

async function setup(wording: "sims" | "subscribers") {
  const worker = await openWorker({
    operations: { "set-class-by-imsi": setClass },
    sandbox: { sims: 5 },
    env: { SIMFLEET_WORDING: wording },
  });
  onTestFinished(() => worker.harness[Symbol.asyncDispose]());
  return worker;
}

/** Runs an operation with a file of one row, and undoes it. @returns the rows of the undo */
async function doneAndUndone(requests: RunRequests, operation: string, file: string) {
  const { runId } = await requests.start(`operation=${operation}`, file);
  expect(await requests.ended(runId)).toMatchObject({ counts: { total: 1, done: 1 } });
  const undo = await requests.ask<RunReport>(`/v1/runs/${runId}/undo`, { method: "POST" });
  expect(await requests.ended(undo.runId)).toMatchObject({ counts: { total: 1, done: 1 } });
  return requests.rowsOf(undo.runId);
}

test("the inventory supplies the IMSI of the path, for a run and for its undo", async () => {
  const { harness, requests } = await setup("sims");
  await requests.become({ speedClass: "s1.slow" }, [1]);
  const key = harness.simId(1);
  const [row] = await doneAndUndone(requests, "set-class-by-imsi", `simId,speedClass\n${key},s1.fast\n`);
  const { imsi } = await requests.ask<{ imsi: string }>(`/v1/sims/${key}`);
  expect(row).toMatchObject({ key, inputs: { speedClass: "s1.slow", imsi } });
  expect(await requests.ask(`/v1/sims/${key}`)).toMatchObject({ speedClass: "s1.slow" });
});

test("the undo of a file of IMSIs takes the SIM ID of the path from the row", async () => {
  const { harness, requests } = await setup("subscribers");
  await requests.become({ tags: { site: "osaka" } }, [0, 1, 2, 3, 4]);
  const simId = harness.simId(2);
  const imsi = harness.sandbox.state.sims.imsiAt(2);
  const file = `imsi,simId,tagName,tagValue\n${imsi},${simId},site,berlin\n`;
  const [row] = await doneAndUndone(requests, "put-tag", file);
  expect(row).toMatchObject({ key: imsi, inputs: { tagName: "site", tagValue: "osaka", simId } });
  expect(await requests.ask(`/v1/sims/${imsi}`)).toMatchObject({ tags: { site: "osaka" } });
});
