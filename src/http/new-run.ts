/** How a request that makes a run gives it its id beforehand, and finds it again (once.ts). */
import { SimfleetError } from "#core/errors.ts";
import type { RunReport } from "#jobs/runs/report.ts";
import { newRunId } from "#jobs/runs/submit.ts";
import type { ControlDeps } from "./deps.ts";
import type { Work } from "./once.ts";

export function newRun({ app, clock }: ControlDeps): Required<Omit<Work<RunReport>, "make" | "sha256">> {
  return {
    status: 202,
    newRef: () => newRunId(clock.wallMs()),
    find: (runId) =>
      app.runs.show(runId).catch((thrown: unknown) => {
        if (thrown instanceof SimfleetError && thrown.code === "RUN_NOT_FOUND") return undefined;
        throw thrown;
      }),
    locationOf: ({ runId }) => `/v1/runs/${runId}`,
  };
}
