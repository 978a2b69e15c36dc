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

type Path = string | ((prepared: Prepared) => string);

const withPath = (role: Role, status: number, path: Path): Route => ({
  role,
  status,
  example: (prepared) => ({ path: typeof path === "string" ? path : path(prepared) }),
});
const get = (path: Path, role: Role = "viewer"): Route => withPath(role, 200, path);
const ofRun = (name: string, which: "overId" | "failedId" | "heldId" | "waitingId", status = 200): Route =>
  withPath("operator", status, (prepared) => `/v1/runs/${prepared[which]}/${name}`);
const json = (role: Role, status: number, path: Path, body: object): Route => ({
  role,
  status,
  example: (prepared) => ({
    ...withPath(role, status, path).example(prepared),
    type: "application/json",
    body: JSON.stringify(body),
  }),
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

const operators = (path: string, status = 200): Route => withPath("operator", status, path);

export const routes: Readonly<Record<string, Route>> = {
  "GET /v1/me": get("/v1/me"),
  "GET /v1/profiles": get("/v1/profiles"),
  "POST /v1/plans": csv("/v1/plans?skipUnchanged=true", 201),
  "GET /v1/plans/{planId}": get(({ planId }) => `/v1/plans/${planId}`),
  "GET /v1/plans/{planId}/rows": get(({ planId }) => `/v1/plans/${planId}/rows?limit=2`),
  // Before the examples that change the same SIMs again, so that there is something to restore.
  "POST /v1/runs/{runId}/undo": ofRun("undo", "overId", 202),
  "POST /v1/runs": csv("/v1/runs?name=example&rate=60&maxFailures=5%25", 202),
  "GET /v1/runs": get("/v1/runs?state=completed&profile=default"),
  "GET /v1/runs/{runId}": get(({ overId }) => `/v1/runs/${overId}`),
  "GET /v1/runs/{runId}/rows": get(({ failedId }) => `/v1/runs/${failedId}/rows?outcome=done&outcome=rejected`),
  "GET /v1/runs/{runId}/results": get(({ overId }) => `/v1/runs/${overId}/results?format=ndjson`),
  "GET /v1/runs/{runId}/summary": get(({ failedId }) => `/v1/runs/${failedId}/summary`),
  "POST /v1/runs/{runId}/pause": ofRun("pause", "heldId"),
  "POST /v1/runs/{runId}/resume": ofRun("resume", "heldId"),
  "POST /v1/runs/{runId}/cancel": ofRun("cancel", "heldId"),
  "POST /v1/runs/{runId}/approve": ofRun("approve", "waitingId"),
  "POST /v1/runs/{runId}/retry": json("operator", 202, ({ failedId }) => `/v1/runs/${failedId}/retry`, {
    outcomes: ["rejected"],
  }),
  "GET /v1/runs/{runId}/retry/plan": get(({ failedId }) => `/v1/runs/${failedId}/retry/plan?outcome=rejected`),
  "GET /v1/runs/{runId}/undo/plan": get(({ overId }) => `/v1/runs/${overId}/undo/plan`),
  "DELETE /v1/runs/{runId}": withPath("admin", 204, ({ failedId }) => `/v1/runs/${failedId}`),
  "GET /v1/plans/{planId}/verdicts": get(({ planId }) => `/v1/plans/${planId}/verdicts`),
  "DELETE /v1/plans/{planId}": withPath("operator", 204, ({ planId }) => `/v1/plans/${planId}`),
  "GET /v1/sims": get("/v1/sims?where=speedClass%20exists&limit=3"),
  "GET /v1/sims/counts": get("/v1/sims/counts?by=speedClass"),
  "GET /v1/sims/count": get("/v1/sims/count?where=speedClass%20exists&search=89"),
  "GET /v1/sims/fields": get("/v1/sims/fields"),
  "GET /v1/sims/export": get("/v1/sims/export?format=csv"),
  "GET /v1/sims/{sim}": get(({ harness }) => `/v1/sims/${harness.simId(1)}`),
  "GET /v1/sims/{sim}/fresh": get(({ harness }) => `/v1/sims/${harness.simId(1)}/fresh`, "operator"),
  "GET /v1/sims/{sim}/statuses": get(({ harness }) => `/v1/sims/${harness.simId(1)}/statuses`, "operator"),
  "GET /v1/sims/{sim}/runs": get(({ harness }) => `/v1/sims/${harness.simId(1)}/runs`),
  "GET /v1/operations": get("/v1/operations"),
  "GET /v1/operations/{operation}": get("/v1/operations/set-speed-class"),
  "GET /v1/changes": get("/v1/changes?since=2026-01-01T00:00:00Z&type=sim.changed"),
  "GET /v1/syncs": get("/v1/syncs"),
  "GET /v1/syncs/{profile}": get("/v1/syncs/default"),
  "POST /v1/syncs": withPath("operator", 202, "/v1/syncs?profile=default"),
  "POST /v1/usage-syncs": withPath("operator", 202, "/v1/usage-syncs?profile=default"),
  "GET /v1/summary": get("/v1/summary?since=1h"),
  "GET /v1/buckets": get("/v1/buckets"),
  "GET /v1/storage": get("/v1/storage"),
  "GET /v1/fleet": get("/v1/fleet"),
  "GET /v1/fleet/history": get("/v1/fleet/history?hours=1"),
  "GET /v1/freeze": get("/v1/freeze"),
  "POST /v1/freeze": json("admin", 200, "/v1/freeze", { reason: "incident 12", until: "2099-12-27T09:00:00+09:00" }),
  "DELETE /v1/freeze": get("/v1/freeze", "admin"),
  "GET /v1/credentials": get("/v1/credentials"),
  "POST /v1/credentials/{credentialsId}": json("admin", 201, "/v1/credentials/by-hand", {
    type: "psk",
    value: "first",
  }),
  "POST /v1/credentials/{credentialsId}/update": json("admin", 200, "/v1/credentials/by-hand/update?profile=default", {
    value: '{"key":"second"}',
  }),
  "DELETE /v1/credentials/{credentialsId}": withPath("admin", 204, "/v1/credentials/by-hand"),
  "GET /v1/rotations": get("/v1/rotations"),
  "GET /v1/rotations/{name}": get("/v1/rotations/mqtt"),
  "POST /v1/rotations/{name}/rotate": withPath("admin", 202, "/v1/rotations/mqtt/rotate"),
  // Nothing waits for approval here, which is reported as a conflict.
  "POST /v1/rotations/{name}/confirm": withPath("admin", 409, "/v1/rotations/mqtt/confirm"),
  "GET /v1/authkeys": get("/v1/authkeys"),
  // There was no rotation.
  "GET /v1/authkeys/rotation": { ...get("/v1/authkeys/rotation"), status: 404 },
  "GET /v1/authkeys/rotation/plan": get("/v1/authkeys/rotation/plan"),
  "POST /v1/authkeys/rotate": withPath("admin", 202, "/v1/authkeys/rotate"),
  "GET /v1/schedules": get("/v1/schedules"),
  "GET /v1/schedules/{name}": get("/v1/schedules/nightly"),
  "POST /v1/schedules/{name}/dry-run": operators("/v1/schedules/nightly/dry-run"),
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
  "GET /v1/tokens": get("/v1/tokens", "admin"),
  "POST /v1/tokens": json("admin", 201, "/v1/tokens", {
    name: "grafana",
    role: "viewer",
    expires: "2099-01-01T00:00:00Z",
  }),
  "DELETE /v1/tokens/{name}": withPath("admin", 204, "/v1/tokens/grafana"),
  "GET /v1/audit/export": get("/v1/audit/export?who=token%3Ax", "admin"),
  "GET /v1/audit": get("/v1/audit", "admin"),
};
