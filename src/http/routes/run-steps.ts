/** Operations on a run: pause, resume, cancel; and new runs from a finished one: retry, undo. */
import { z } from "zod";
import { outcomes } from "#fleet/run.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { newRun } from "../new-run.ts";
import { once } from "../once.ts";
import { actorOf } from "../auth/principal.ts";
import { noBody, nothing } from "#contract/fields.ts";
import { ofRun, runReport } from "./runs.ts";

const tags = ["runs"];

export function runStepRoutes(api: Api, deps: ControlDeps): void {
  const { runs } = deps.app;
  const step = (name: string, summary: string, take: (runId: string, how: { by: string }) => Promise<void>): void => {
    api.post(
      `/runs/:runId/${name}`,
      {
        config: { role: "operator" },
        schema: {
          ...{ summary, tags },
          params: ofRun,
          querystring: nothing,
          body: noBody,
          response: { 200: runReport },
        },
      },
      async ({ params: { runId }, principal }) => {
        await take(runId, { by: actorOf(principal) });
        return runs.show(runId);
      },
    );
  };
  step("pause", "Pause a run; calls in flight are completed", (runId, { by }) =>
    runs.control.pause(runId, { by, reason: `paused by ${by}` }),
  );
  step("resume", "Resume a run", (runId, how) => runs.control.resume(runId, how));
  step("cancel", "Cancel a run; rows not yet sent are left unchanged", (runId, { by }) =>
    runs.control.cancel(runId, { by, reason: `cancelled by ${by}` }),
  );
  step("approve", "Approve a run submitted by someone else", (runId, { by }) => runs.control.approve(runId, by));
  addRetry(api, deps);
  addUndo(api, deps);
}

function addRetry(api: Api, deps: ControlDeps): void {
  const { app } = deps;
  api.post(
    "/runs/:runId/retry",
    {
      config: { role: "operator" },
      schema: {
        ...{ summary: "Retry failed and cancelled rows in a new run", tags },
        params: ofRun,
        querystring: nothing,
        body: z
          .strictObject({
            outcomes: z.array(z.enum(outcomes)).min(1).optional().describe("retry rows with these outcomes instead"),
          })
          .nullish(),
        response: { 202: runReport },
      },
    },
    async (request, reply) => {
      const { params, body, principal } = request;
      const by = actorOf(principal);
      return once(
        deps,
        { request, reply },
        {
          ...newRun(deps),
          make: (newId) => app.runs.retry(params.runId, { outcomes: body?.outcomes, by, runId: newId }),
        },
      );
    },
  );
}

function addUndo(api: Api, deps: ControlDeps): void {
  const { app } = deps;
  api.post(
    "/runs/:runId/undo",
    {
      config: { role: "operator" },
      schema: {
        ...{ summary: "Restore the previous classes in a new run, except for SIMs changed since", tags },
        description: "It uses the inventory: run a sync just before.",
        ...{ params: ofRun, querystring: nothing, body: noBody, response: { 202: runReport } },
      },
    },
    async (request, reply) => {
      const { params, principal } = request;
      const by = actorOf(principal);
      const { profile } = await app.runs.record(params.runId);
      const wording = app.wordingOf(profile);
      return once(
        deps,
        { request, reply },
        {
          ...newRun(deps),
          make: (newId) => app.runs.undo(params.runId, { wording, by, runId: newId }),
        },
      );
    },
  );
}
