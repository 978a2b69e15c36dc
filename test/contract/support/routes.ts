/**
 * Every route of the control API: its role, a request that succeeds, and the status of its response. A route is called
 * as its description says, with the examples of its contract (`.meta({ example })`) and what the test has prepared.
 */
import { type Role, roles } from "#fleet/role.ts";

/**
 * Objects that requests refer to, by the parameter that names them. The run `runId` is over, `heldId` is held up by its
 * limit, and `waitingId` waits for approval.
 */
export type Prepared = Readonly<Record<"sim" | "planId" | "runId" | "heldId" | "waitingId", string>>;

export interface Example {
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
}

export interface Route {
  readonly role: Role;
  readonly status: number;
  readonly example: Example;
}

/** A route as the description of the API has it. */
export interface Operation {
  readonly description: string;
  readonly security?: unknown;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema?: { readonly example?: string | number };
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: { example?: object } }>> };
  readonly responses: Readonly<Record<string, { description: string; content?: Record<string, { schema: object }> }>>;
}

/** The role of routes where it is not the usual one, so that a slip in a contract shows. */
const otherRoles: readonly (readonly [Role, RegExp])[] = [
  ["operator", /^GET .*\/(?:fresh|statuses)$/],
  ["admin", / \/v1\/(?:audit|tokens)/],
  ["admin", /^(?:POST|DELETE) \/v1\/(?:credentials|rotations|authkeys|freeze)/],
  ["admin", /^DELETE \/v1\/runs/],
];

/** The role that a route needs by its kind: viewers read, and operators change. */
export function roleOf(name: string): Role {
  return otherRoles.find(([, names]) => names.test(name))?.[0] ?? (name.startsWith("GET ") ? "viewer" : "operator");
}

/** Requests for a run that is not over, and those that do not succeed. */
const exceptions: Readonly<Record<string, { readonly runId?: "heldId" | "waitingId"; readonly status?: number }>> = {
  "POST /v1/runs/{runId}/pause": { runId: "heldId" },
  "POST /v1/runs/{runId}/resume": { runId: "heldId" },
  "POST /v1/runs/{runId}/cancel": { runId: "heldId" },
  "POST /v1/runs/{runId}/approve": { runId: "waitingId" },
  // Nothing waits for approval here, which is reported as a conflict.
  "POST /v1/rotations/{name}/confirm": { status: 409 },
  // There were no deliveries.
  "GET /v1/deliveries/{deliveryId}": { status: 404 },
  "POST /v1/deliveries/{deliveryId}/redeliver": { status: 404 },
};

/** All routes, by method and path: first those that change something, then reads, last deletions by name. */
export function routesOf(
  operations: ReadonlyMap<string, Operation>,
  prepared: Prepared,
): Readonly<Record<string, Route>> {
  const unknown = Object.keys(exceptions).filter((name) => !operations.has(name));
  if (unknown.length > 0) throw new Error(`there is no route ${unknown.join(", ")}`);
  const place = (name: string): number => (name.startsWith("GET ") ? 1 : Number(/^DELETE .*\{/.test(name)) * 2);
  const inOrder = [...operations].toSorted(([a], [b]) => place(a) - place(b));
  return Object.fromEntries(inOrder.map(([name, operation]) => [name, routeOf(name, operation, prepared)]));
}

function routeOf(
  name: string,
  { description, parameters = [], requestBody, responses }: Operation,
  prepared: Prepared,
): Route {
  const success = Number(Object.keys(responses).find((one) => one.startsWith("2")));
  const { status = success, runId = "runId" } = exceptions[name] ?? {};
  const values: Readonly<Record<string, string>> = { ...prepared, runId: prepared[runId] };
  const query = new URLSearchParams();
  for (const { in: where, name: field, schema } of parameters) {
    if (where === "query" && schema?.example !== undefined) query.set(field, String(schema.example));
  }
  const path = `${name.split(" ")[1] ?? ""}?${query.toString()}`.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const value = values[parameter] ?? parameters.find((one) => one.name === parameter)?.schema?.example;
    if (value === undefined) throw new Error(`${name}: give ${parameter} an example in its contract (.meta)`);
    return encodeURIComponent(value);
  });
  const role = roles.find((one) => description.includes(`Needs the role ${one}.`)) ?? "admin";
  const body = requestBody?.content["application/json"]?.schema?.example;
  const sent = body === undefined ? {} : { type: "application/json", body: JSON.stringify(body) };
  return { role, status, example: { path, ...sent } };
}
