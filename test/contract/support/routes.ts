/**
 * Every route of the control API: the minimum role, an example that succeeds, and its response. A route that is missing
 * here, or no longer exists, fails the tests.
 */
import type { Role } from "#fleet/role.ts";
import type { ControlHarness } from "./control-harness.ts";

/** The objects that the examples refer to. */
export interface Prepared {
  readonly harness: ControlHarness;
  /** A finished run with changes, a run with failed rows, and a run held up by a limit. */
  readonly overId: string;
  readonly failedId: string;
  readonly heldId: string;
  readonly waitingId: string;
  readonly planId: string;
}

export interface Example {
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
}

interface Route {
  readonly role: Role;
  readonly status: number;
  readonly example: (prepared: Prepared) => Example;
}

const get = (path: string, role: Role = "viewer"): Route => ({ role, status: 200, example: () => ({ path }) });
const ofRun = (name: string, which: "overId" | "failedId" | "heldId" | "waitingId", status = 200): Route => ({
  role: "operator",
  status,
  example: (prepared) => ({ path: `/v1/runs/${prepared[which]}/${name}` }),
});
const csv = (path: string, status: number): Route => ({
  role: "operator",
  status,
  example: ({ harness }) => ({
    path,
    body: harness.csv(3),
    type: "text/csv",
  }),
});

const operators = (path: string, status = 200): Route => ({ role: "operator", status, example: () => ({ path }) });

export const routes: Readonly<Record<string, Route>> = {
  "GET /v1/me": get("/v1/me"),
  "GET /v1/profiles": get("/v1/profiles"),
  "POST /v1/plans": csv("/v1/plans?skipUnchanged=true", 201),
  "GET /v1/plans/{planId}": { role: "viewer", status: 200, example: ({ planId }) => ({ path: `/v1/plans/${planId}` }) },
  "GET /v1/plans/{planId}/rows": {
    role: "viewer",
    status: 200,
    example: ({ planId }) => ({ path: `/v1/plans/${planId}/rows?limit=2` }),
  },
  "POST /v1/runs": csv("/v1/runs?name=example&rate=60&maxFailures=5%25", 202),
  "GET /v1/runs": get("/v1/runs?state=completed&profile=default"),
  "GET /v1/runs/{runId}": { role: "viewer", status: 200, example: ({ overId }) => ({ path: `/v1/runs/${overId}` }) },
  "GET /v1/runs/{runId}/rows": {
    role: "viewer",
    status: 200,
    example: ({ failedId }) => ({ path: `/v1/runs/${failedId}/rows?outcome=done&outcome=rejected` }),
  },
  "GET /v1/runs/{runId}/results": {
    role: "viewer",
    status: 200,
    example: ({ overId }) => ({ path: `/v1/runs/${overId}/results?format=ndjson` }),
  },
  "GET /v1/runs/{runId}/summary": {
    role: "viewer",
    status: 200,
    example: ({ failedId }) => ({ path: `/v1/runs/${failedId}/summary` }),
  },
  "POST /v1/runs/{runId}/pause": ofRun("pause", "heldId"),
  "POST /v1/runs/{runId}/resume": ofRun("resume", "heldId"),
  "POST /v1/runs/{runId}/cancel": ofRun("cancel", "heldId"),
  "POST /v1/runs/{runId}/approve": ofRun("approve", "waitingId"),
  "POST /v1/runs/{runId}/retry": {
    role: "operator",
    status: 202,
    example: ({ failedId }) => ({
      path: `/v1/runs/${failedId}/retry`,
      type: "application/json",
      body: JSON.stringify({ outcomes: ["rejected"] }),
    }),
  },
  "POST /v1/runs/{runId}/undo": ofRun("undo", "overId", 202),
  "GET /v1/runs/{runId}/retry/plan": {
    role: "viewer",
    status: 200,
    example: ({ failedId }) => ({ path: `/v1/runs/${failedId}/retry/plan?outcome=rejected` }),
  },
  "GET /v1/runs/{runId}/undo/plan": {
    role: "viewer",
    status: 200,
    example: ({ overId }) => ({ path: `/v1/runs/${overId}/undo/plan` }),
  },
  "DELETE /v1/runs/{runId}": {
    role: "admin",
    status: 204,
    example: ({ failedId }) => ({ path: `/v1/runs/${failedId}` }),
  },
  "GET /v1/plans/{planId}/verdicts": {
    role: "viewer",
    status: 200,
    example: ({ planId }) => ({ path: `/v1/plans/${planId}/verdicts` }),
  },
  "DELETE /v1/plans/{planId}": {
    role: "operator",
    status: 204,
    example: ({ planId }) => ({ path: `/v1/plans/${planId}` }),
  },
  "GET /v1/sims": get("/v1/sims?where=speedClass%20exists&limit=3"),
  "GET /v1/sims/counts": get("/v1/sims/counts?by=speedClass"),
  "GET /v1/sims/count": get("/v1/sims/count?where=speedClass%20exists&search=89"),
  "GET /v1/sims/fields": get("/v1/sims/fields"),
  "GET /v1/sims/export": get("/v1/sims/export?format=csv"),
  "GET /v1/sims/{sim}": {
    role: "viewer",
    status: 200,
    example: ({ harness }) => ({ path: `/v1/sims/${harness.simId(1)}` }),
  },
  "GET /v1/sims/{sim}/fresh": {
    role: "operator",
    status: 200,
    example: ({ harness }) => ({ path: `/v1/sims/${harness.simId(1)}/fresh` }),
  },
  "GET /v1/sims/{sim}/statuses": {
    role: "operator",
    status: 200,
    example: ({ harness }) => ({ path: `/v1/sims/${harness.simId(1)}/statuses` }),
  },
  "GET /v1/sims/{sim}/runs": {
    role: "viewer",
    status: 200,
    example: ({ harness }) => ({ path: `/v1/sims/${harness.simId(1)}/runs` }),
  },
  "GET /v1/operations": get("/v1/operations"),
  "GET /v1/operations/{operation}": get("/v1/operations/set-speed-class"),
  "GET /v1/changes": get("/v1/changes?since=2026-01-01T00:00:00Z&type=sim.changed"),
  "GET /v1/syncs": get("/v1/syncs"),
  "GET /v1/syncs/{profile}": get("/v1/syncs/default"),
  "POST /v1/syncs": { role: "operator", status: 202, example: () => ({ path: "/v1/syncs?profile=default" }) },
  "GET /v1/buckets": get("/v1/buckets"),
  "GET /v1/storage": get("/v1/storage"),
  "GET /v1/fleet": get("/v1/fleet"),
  "GET /v1/fleet/history": get("/v1/fleet/history?hours=1"),
  "GET /v1/freeze": get("/v1/freeze"),
  "POST /v1/freeze": {
    role: "admin",
    status: 200,
    example: () => ({
      path: "/v1/freeze",
      type: "application/json",
      body: JSON.stringify({
        reason: "incident 12",
        until: "2099-12-27T09:00:00+09:00",
      }),
    }),
  },
  "DELETE /v1/freeze": { role: "admin", status: 200, example: () => ({ path: "/v1/freeze" }) },
  "GET /v1/credentials": get("/v1/credentials"),
  "GET /v1/rotations": get("/v1/rotations"),
  "GET /v1/rotations/{name}": get("/v1/rotations/mqtt"),
  "POST /v1/rotations/{name}/rotate": {
    role: "admin",
    status: 202,
    example: () => ({ path: "/v1/rotations/mqtt/rotate" }),
  },
  // Nothing waits for approval here, which is reported as a conflict.
  "POST /v1/rotations/{name}/confirm": {
    role: "admin",
    status: 409,
    example: () => ({ path: "/v1/rotations/mqtt/confirm" }),
  },
  "GET /v1/authkeys": get("/v1/authkeys"),
  // There was no rotation.
  "GET /v1/authkeys/rotation": { ...get("/v1/authkeys/rotation"), status: 404 },
  "GET /v1/authkeys/rotation/plan": get("/v1/authkeys/rotation/plan"),
  "POST /v1/authkeys/rotate": { role: "admin", status: 202, example: () => ({ path: "/v1/authkeys/rotate" }) },
  "GET /v1/schedules": get("/v1/schedules"),
  "GET /v1/schedules/{name}": get("/v1/schedules/nightly"),
  "POST /v1/schedules/{name}/pause": operators("/v1/schedules/nightly/pause"),
  "POST /v1/schedules/{name}/resume": operators("/v1/schedules/nightly/resume"),
  "POST /v1/schedules/{name}/trigger": operators("/v1/schedules/nightly/trigger", 202),
  "GET /v1/automations": get("/v1/automations"),
  "POST /v1/automations/{name}/pause": operators("/v1/automations/new-ones/pause"),
  "POST /v1/automations/{name}/resume": operators("/v1/automations/new-ones/resume"),
  "POST /v1/automations/{name}/dry-run": operators("/v1/automations/new-ones/dry-run?hours=1"),
  "GET /v1/webhooks": get("/v1/webhooks"),
  "POST /v1/webhooks/{name}/test": operators("/v1/webhooks/ops/test"),
  "POST /v1/webhooks/{name}/resume": operators("/v1/webhooks/ops/resume"),
  "GET /v1/deliveries": get("/v1/deliveries?webhook=ops&state=failed"),
  // There were no deliveries.
  "GET /v1/deliveries/{deliveryId}": { ...get("/v1/deliveries/ops.1-0"), status: 404 },
  "POST /v1/deliveries/{deliveryId}/redeliver": operators("/v1/deliveries/ops.1-0/redeliver", 404),
  "GET /v1/events": get("/v1/events?type=run.completed&limit=5"),
  "GET /v1/audit/export": get("/v1/audit/export?who=token%3Ax", "admin"),
  "GET /v1/audit": get("/v1/audit", "admin"),
};
