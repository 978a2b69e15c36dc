/** Every route, by its description: who may call it, and that what it answers is what it declares. */
import { inventory } from "#jobs/inventory/feature.ts";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, describe, expect, test } from "vitest";
import { isAtLeast, type Role, roles } from "#fleet/role.ts";
import { tickets } from "../features/tickets/feature.ts";
import { answerOf, ControlHarness } from "./support/control-harness.ts";
import { type Example, roleOf, type Operation, type Prepared, routesOf } from "./support/routes.ts";

interface Description {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly components: { readonly securitySchemes: Readonly<Record<string, unknown>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const { harness, ...prepared } = await setup();
const description = (await (await harness.ask("/docs/json")).json()) as Description;
const routes = routesOf(operations(), prepared);
afterAll(() => harness[Symbol.asyncDispose]());

function operations(): Map<string, Operation> {
  const found = new Map<string, Operation>();
  for (const [path, byMethod] of Object.entries(description.paths)) {
    // Signed messages need no role (triggers.test.ts).
    if (path.startsWith("/v1/triggers/")) continue;
    if (!path.startsWith("/v1/")) continue;
    for (const [method, operation] of Object.entries(byMethod)) found.set(`${method.toUpperCase()} ${path}`, operation);
  }
  return found;
}

const takesFiles = (name: string): boolean => name === "POST /v1/plans" || name === "POST /v1/runs";

function call(name: string, as: Role | undefined, { path, body, type }: Example): Promise<Response> {
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
  return harness.ask(path, { method: name.split(" ")[0] ?? "", headers, body: body ?? null, as });
}

/** The problems of a value; a keyword that is none of JSON Schema is an error. Formats describe, and patterns check. */
function faultsOf(schema: object, value: unknown): string[] {
  const ajv = new Ajv2020({ allErrors: true, validateFormats: false, keywords: ["example"] });
  ajv.validate(schema, value);
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`);
}

describe("request bodies that a route does not accept", () => {
  const changing = Object.entries(routes).filter(([name]) => !name.startsWith("GET "));
  const refused = async (
    name: string,
    { path }: Example,
    body: RequestInit["body"],
    type?: string,
  ): Promise<unknown> => {
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    const [method = ""] = name.split(" ");
    const answer = await harness.ask(path, { method, as: "admin", headers, body: body ?? null });
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  const unsupported = { status: 415, code: "BODY_UNSUPPORTED", type: "urn:simfleet:error:BODY_UNSUPPORTED" };

  test.each(changing.filter(([name]) => !takesFiles(name)))(
    "the route %s refuses a file as its body",
    async (name, { example }) => {
      const taken = await refused(name, example, harness.csv(1), "Text/CSV; charset=utf-8");
      expect(taken).toMatchObject({
        ...unsupported,
        detail: expect.stringMatching(
          /^(?:POST|DELETE) \/v1\/[\w/:-]+ does not take text\/csv\. It takes (?:no body: leave it and its Content-Type out|application\/json)$/,
        ),
      });
      const form = new FormData();
      form.append("file", new Blob(["x"]), "x.csv");
      expect(await refused(name, example, form)).toMatchObject(unsupported);
    },
  );

  test("a JSON route refuses a text body and accepts JSON with a charset", async () => {
    const [, freeze] = changing.find(([name]) => name === "POST /v1/freeze") ?? [];
    const asText = await refused("POST /v1/freeze", freeze?.example ?? { path: "" }, "{}", "text/plain");
    const detail = "POST /v1/freeze does not take text/plain. It takes application/json";
    expect(asText).toMatchObject({ ...unsupported, detail });
    for (const [name, { role, status, example }] of changing.filter(([one]) => one.endsWith("/pause"))) {
      const answer = await call(name, role, { ...example, type: "application/json; charset=utf-8", body: "{}" });
      expect([name, answer.status]).toEqual([name, status]);
    }
  });
});

test("every route that changes something has its words for the audit log", async () => {
  const endpoints = await harness.app.routes({ process: "worker" });
  const silent = endpoints.filter(({ route }) => route.method !== "GET" && route.did === undefined);
  expect(silent.map(({ route }) => `${route.method} ${route.path}`)).toEqual([]);
});

describe("the API description", () => {
  test("the API description states the role of each route", () => {
    const said = [...operations()].map(([name, { description: about }]) => [
      name,
      /Needs the role (\w+)\./.exec(about)?.[1],
    ]);
    expect(Object.fromEntries(said)).toEqual(
      Object.fromEntries(Object.entries(routes).map(([name, { role }]) => [name, role])),
    );
  });

  test("the API description is OpenAPI 3.1 with all path parameters, responses, errors, and security", () => {
    expect(description.openapi).toMatch(/^3\.1\.\d$/);
    expect(description.info.title).not.toBe("");
    expect(JSON.stringify(description)).not.toContain('"$ref"');
    for (const [name, { parameters = [], responses, security }] of operations()) {
      const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter = ""]) => parameter);
      const declared = parameters.filter((one) => one.in === "path" && one.required === true).map((one) => one.name);
      expect(declared.toSorted(), name).toEqual(inPath.toSorted());
      expect(Object.keys(responses), name).toContainEqual(expect.stringMatching(/^2\d\d$/));
      expect(responses.default?.content, name).toHaveProperty(["application/problem+json"]);
      expect(security, name).toEqual([{ token: [] }]);
      for (const one of Object.values(responses)) expect(one.description, name).not.toBe("");
    }
    expect(description.components.securitySchemes).toHaveProperty("token");
  });

  test("the API description shows how rows are submitted", () => {
    for (const name of ["POST /v1/plans", "POST /v1/runs"]) {
      const { requestBody } = operations().get(name) as unknown as { requestBody: { content: object } };
      expect(Object.keys(requestBody.content)).toEqual(["text/csv", "multipart/form-data", "application/json"]);
    }
  });
});

test.each(Object.entries(routes).filter(([name]) => name.startsWith("POST")))(
  "the route %s refuses an unknown field",
  async (name, { example: { path } }) => {
    const refused = await call(name, "admin", { path, type: "application/json", body: '{"nonsense":1}' });
    expect(await answerOf(refused)).toMatchObject([400, { code: "REQUEST_INVALID" }]);
  },
);

const withFile = Object.entries(routes).flatMap(([name, { example, ...route }]) =>
  takesFiles(name)
    ? [[name, { ...route, example: { ...example, body: harness.csv(3), type: "text/csv" } }] as const]
    : [],
);

describe.each([...Object.entries(routes), ...withFile])("%s", (name, { role, status, example }) => {
  // Shows S10.
  test("a route returns 401 without a credential and with a wrong one", async () => {
    const { path } = example;
    const bare = await call(name, undefined, { path });
    expect(await answerOf(bare)).toMatchObject([401, { code: "UNAUTHENTICATED" }]);
    expect(bare.headers.get("www-authenticate")).toBe("Bearer");
    expect((await harness.ask(path, { method: name.split(" ")[0] ?? "", as: "sf_nobody" })).status).toBe(401);
  });

  // Shows S11.
  test.skipIf(name.includes("/tickets"))("a route needs the role of its kind", () => {
    expect(role).toBe(roleOf(name));
  });

  // Shows S11.
  test.each(roles.filter((one) => !isAtLeast(one, role)))("a route returns 403 to a %s", async (small) => {
    const refused = await answerOf(call(name, small, { path: example.path }));
    expect(refused).toMatchObject([403, { code: "FORBIDDEN" }]);
  });

  // Shows S11.
  test("a route refuses an unknown query parameter", async () => {
    const refused = await call(name, "admin", { ...example, path: `${example.path}&nonsense=1` });
    const refusal = { code: "REQUEST_INVALID", problems: [{ where: "query" }] };
    expect(await answerOf(refused)).toMatchObject([400, refusal]);
  });

  test("a route responds as its description declares", async () => {
    const answer = await call(name, role, example);
    const text = await answer.text();
    expect([answer.status, text]).toEqual([status, expect.anything()]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const responses: Operation["responses"] = operations().get(name)?.responses ?? {};
    const declared = responses[String(status)] ?? responses.default;
    const type = answer.headers.get("content-type")?.split(";", 1)[0];
    const schema = type === undefined || declared?.content === undefined ? undefined : declared.content[type]?.schema;
    if (status === 204) expect(text).toBe("");
    else expect(schema, `${name} declares ${type}`).toBeDefined();
    if (type === "application/json" || type === "application/problem+json")
      expect(faultsOf(schema ?? {}, JSON.parse(text))).toEqual([]);
  });
});

/** A fleet that was read, and a run in each of the states that the examples need. */
async function setup(): Promise<Prepared & { readonly harness: ControlHarness }> {
  const worker = await ControlHarness.open({
    works: true,
    more: [tickets],
    sandbox: { operations: "all", sims: 20, limits: { Credential: 1_000, Group: 1_000, Operator: 1_000 } },
    env: {
      SIMFLEET_BRAND: "Svc",
      SIMFLEET_COVERAGE: "g",
      SIMFLEET_DEPLOYMENT: "soracom",
      SIMFLEET_CHANGES_APPROVAL_ABOVE: "15",
    },
    prepare: withRotations,
    http: "  authFailuresPerMinute: 1000\n",
  });
  worker.sandbox.state.credentials.create("mqtt", { type: "psk", credentials: { key: "before" } });
  const started = async (body: string, query = ""): Promise<string> => {
    const answer = await worker.upload(`/v1/runs${query}`, body, { as: "admin" });
    const { runId } = (await answer.json()) as { runId: string };
    expect(answer.status).toBe(202);
    return runId;
  };
  await worker.sync();
  await worker.app.service(inventory).service.remember("default");
  const runId = await started(`${worker.csv(10, "s1.8xfast")}8942319999999999999,s1.fast\n`);
  await worker.ended(runId);
  const heldId = await started(worker.csv(5, "s1.slow"), "?rate=1");
  const waitingId = await started(worker.csv(20, "s1.slow"), "?rate=1");
  const form = new FormData();
  form.append("file", new Blob([`${worker.csv(2)}nonsense,s1.fast\n`]), "fleet.csv");
  const planned = await worker.ask("/v1/plans", { as: "admin", method: "POST", body: form });
  const { planId } = (await planned.json()) as { planId: string };
  return { harness: worker, sim: worker.simId(1), runId, heldId, waitingId, planId };
}

async function withRotations(folder: string): Promise<string> {
  await mkdir(join(folder, "out"));
  await writeFile(join(folder, "seal-key"), Buffer.alloc(32, 9), { mode: 0o600 });
  return `tickets: { support: { about: Questions } }
seal: { keyFile: ${join(folder, "seal-key")} }
rotations:
  mqtt: { type: psk, generate: { field: key, bytes: 32, encoding: base64url }, sinks: [ { file: ${join(folder, "out/mqtt")} } ] }
automations:
  new-ones: { on: sim.added, job: apply, speedClass: s1.minimum }
webhooks:
  ops: { url: "http://127.0.0.1:9/", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, events: ["run.*"] }
schedules:
  nightly: { job: sync, cron: "0 3 * * *", timezone: Asia/Tokyo }
authKeys:
  default: { sinks: [ { file: ${join(folder, "out/auth-key")} } ] }
`;
}
