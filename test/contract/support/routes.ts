/**
 * Every route of the control API: the minimum role, an example that succeeds, and its response. A route is called as
 * its description says, with the examples of its contract (`.meta({ example })`), unless an example stands here: it
 * needs objects that the test has prepared, several queries, or its place in the order.
 */
import { type Role, roles } from "#fleet/role.ts";
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

export interface Route {
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
  example: ({ harness }) => ({ path, body: harness.csv(3), type: "text/csv" }),
});

/** A route as the description of the API has it. */
export interface Operation {
  readonly description: string;
  readonly security?: unknown;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema?: { readonly example?: string };
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: { example?: object } }>> };
  readonly responses: Readonly<Record<string, { description: string; content?: Record<string, { schema: object }> }>>;
}

/** All routes, by method and path. */
export function routesOf(operations: ReadonlyMap<string, Operation>): Readonly<Record<string, Route>> {
  const unknown = Object.keys(examples).filter((name) => !operations.has(name));
  if (unknown.length > 0) throw new Error(`there is no route ${unknown.join(", ")}`);
  // The examples keep their order: some depend on it. Deletions of what does not exist come before all creations.
  const others = [...operations]
    .filter(([name]) => examples[name] === undefined)
    .toSorted(([a], [b]) => Number(deletesOne(b)) - Number(deletesOne(a)));
  return { ...Object.fromEntries(others.map(([name, operation]) => [name, described(name, operation)])), ...examples };
}

/** Whether a route deletes what its path names. */
function deletesOne(name: string): boolean {
  return /^DELETE .*\{/.test(name);
}

function described(name: string, { description, parameters = [], requestBody, responses }: Operation): Route {
  const query = new URLSearchParams();
  for (const { in: where, name: field, schema } of parameters) {
    if (where === "query" && schema?.example !== undefined) query.set(field, schema.example);
  }
  const path = ({ harness }: Prepared): string =>
    `${name.split(" ")[1] ?? ""}?${query.toString()}`.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
      const { example } = parameters.find((one) => one.name === parameter)?.schema ?? {};
      const value = parameter === "sim" ? harness.simId(1) : example;
      if (value === undefined)
        throw new Error(`${name}: give ${parameter} an example (.meta), or the route one in ${import.meta.filename}`);
      return encodeURIComponent(value);
    });
  const role = roles.find((one) => description.includes(`Needs the role ${one}.`)) ?? "admin";
  // The example of a route that deletes names an object that does not exist.
  const status = deletesOne(name) ? 404 : Number(Object.keys(responses).find((one) => one.startsWith("2")));
  const body = requestBody?.content["application/json"]?.schema?.example;
  return body === undefined ? withPath(role, status, path) : json(role, status, path, body);
}

const examples: Readonly<Record<string, Route>> = {
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
  "DELETE /v1/runs/{runId}": withPath("admin", 204, ({ failedId }) => `/v1/runs/${failedId}`),
  "GET /v1/plans/{planId}/verdicts": get(({ planId }) => `/v1/plans/${planId}/verdicts`),
  "DELETE /v1/plans/{planId}": withPath("operator", 204, ({ planId }) => `/v1/plans/${planId}`),
  "GET /v1/sims/count": get("/v1/sims/count?where=speedClass%20exists&search=89"),
  "GET /v1/sims/export": get("/v1/sims/export?format=csv"),
  "GET /v1/fleet/history": get("/v1/fleet/history?hours=1"),
  "POST /v1/credentials/{credentialsId}": json("admin", 201, "/v1/credentials/by-hand", {
    type: "psk",
    value: "first",
  }),
  "POST /v1/credentials/{credentialsId}/update": json("admin", 200, "/v1/credentials/by-hand/update?profile=default", {
    value: '{"key":"second"}',
  }),
  "DELETE /v1/credentials/{credentialsId}": withPath("admin", 204, "/v1/credentials/by-hand"),
  // Nothing waits for approval here, which is reported as a conflict.
  "POST /v1/rotations/{name}/confirm": withPath("admin", 409, "/v1/rotations/mqtt/confirm"),
  // There was no rotation.
  "GET /v1/authkeys/rotation": { ...get("/v1/authkeys/rotation"), status: 404 },
  "POST /v1/authkeys/rotate": withPath("admin", 202, "/v1/authkeys/rotate"),
  "GET /v1/deliveries": get("/v1/deliveries?webhook=ops&state=failed"),
  // There were no deliveries.
  "GET /v1/deliveries/{deliveryId}": { ...get("/v1/deliveries/ops.1-0"), status: 404 },
  "POST /v1/deliveries/{deliveryId}/redeliver": withPath("operator", 404, "/v1/deliveries/ops.1-0/redeliver"),
  "POST /v1/tokens": json("admin", 201, "/v1/tokens", {
    name: "grafana",
    role: "viewer",
    expires: "2099-01-01T00:00:00Z",
  }),
  "DELETE /v1/tokens/{name}": withPath("admin", 204, "/v1/tokens/grafana"),
  "GET /v1/audit/export": get("/v1/audit/export?who=token%3Ax", "admin"),
};
