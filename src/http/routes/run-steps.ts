/** Hands on a run: pause, resume, cancel; and the runs that are made of one that is over: retry, undo. */
import { z } from "zod";
import { outcomes } from "#fleet/run.ts";
import type { Api, ControlDeps } from "../house.ts";
import { newRun } from "../new-run.ts";
import { once } from "../once.ts";
import { actorOf } from "../principal.ts";
import { noBody, nothing } from "../shape.ts";
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
  step("pause", "Hold a run; calls that are out end", (runId, { by }) =>
    runs.control.pause(runId, { by, reason: `paused by ${by}` }),
  );
  step("resume", "Go on with a run where it stood", (runId, how) => runs.control.resume(runId, how));
  step("cancel", "End a run; rows without a call stay as they are", (runId, { by }) =>
    runs.control.cancel(runId, { by, reason: `cancelled by ${by}` }),
  );
  step("approve", "Let a run begin that waits for it, and that somebody else has submitted", (runId, { by }) =>
    runs.control.approve(runId, by),
  );
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
        ...{ summary: "Redo the rows of a run that failed or were cancelled, as a new run", tags },
        params: ofRun,
        querystring: nothing,
        body: z
          .strictObject({ outcomes: z.array(z.enum(outcomes)).min(1).optional().describe("take up these instead") })
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
        ...{ summary: "Put back what a run changed and nobody has changed since, as a new run", tags },
        description: "It goes by the inventory: let a sync read the fleet anew just before.",
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
