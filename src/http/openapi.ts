/**
 * The OpenAPI 3.1 description of the control API and the page that shows it. It is generated from the schemas of the
 * routes, so it cannot differ from what the server checks.
 */
import type { FastifyDynamicSwaggerOptions, SwaggerTransform } from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { jsonSchemaTransform } from "fastify-type-provider-zod";
import { z } from "zod";
import { problemDocument } from "./problem.ts";
import { rowsBody } from "./plans/upload.ts";

const about = `Send a file or a filter, preview the run, start it, follow it, and fetch a result for every row.
Errors are \`application/problem+json\` with a stable \`code\`. Times are ISO 8601 in UTC. For examples with curl see
docs/reference/control-api.md.`;

export function describedBy(version: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: "3.1.0",
      info: { title: "simfleet control API", version, description: about, license: { name: "Apache-2.0" } },
      servers: [{ url: "/" }],
      components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    },
    transform: describeRoute,
  };
}

/** Adds to the schemas of a route what all routes have in common: role, errors, and how rows are uploaded. */
const describeRoute: SwaggerTransform = (document) => {
  const { schema, url } = jsonSchemaTransform(document);
  const { role } = document.route.config ?? {};
  if (schema.hide === true || role === undefined) return { schema, url };
  const { description, consumes, response, ...rest } = schema as Described;
  const isMaking = document.route.method === "POST";
  return {
    schema: {
      ...rest,
      description: [description, role === "open" ? "" : `Needs the role ${role}.`].filter(Boolean).join(" "),
      security: role === "open" ? [] : [{ token: [] }],
      response: { ...response, default: anyProblem },
      ...(consumes === undefined ? {} : { body: handedOverRows }),
      ...(isMaking ? { headers: idempotencyHeader } : {}),
    },
    url,
  };
};

interface Described {
  readonly description?: string;
  /** Request body of a route that takes rows. */
  readonly consumes?: readonly string[];
  readonly response?: Readonly<Record<string, unknown>>;
}

const anyProblem = {
  description: "The problem and how to fix it",
  content: { "application/problem+json": { schema: bare(problemDocument) } },
};

const handedOverRows = {
  content: {
    "text/csv": { schema: { type: "string" } },
    "multipart/form-data": {
      schema: { type: "object", properties: { file: { type: "string", format: "binary" } }, required: ["file"] },
    },
    "application/json": { schema: bare(rowsBody) },
  },
};

const idempotencyHeader = {
  type: "object",
  properties: {
    "idempotency-key": {
      type: "string",
      description: "a request repeated with the same key is executed once, for a day",
    },
  },
};

function bare(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input" });
  return json;
}

/** Hash of the one style element that Swagger UI writes into its page. A test fails when a version writes another. */
const styleOfSwaggerUi = "'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='";

/** `/docs` and `/docs/json`: open, because they contain nothing that is not in the source. */
export async function addDescription(server: FastifyInstance): Promise<void> {
  await server.register(async (child) => {
    child.addHook("onRoute", (route) => {
      route.config = { ...route.config, role: "open" };
    });
    await child.register(swaggerUi, {
      routePrefix: "/docs",
      transformStaticCSP: (policy) => policy.replace("style-src", `$& ${styleOfSwaggerUi}`),
    });
  });
}
