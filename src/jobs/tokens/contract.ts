/** The routes of the bearer tokens of the control API. */
import { z } from "zod";
import { instant, pageOf } from "#contract/fields.ts";
import { deleteRoute, route } from "#contract/route.ts";
import { roles } from "#fleet/role.ts";

const name = z
  .string()
  .regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$/,
    "must have letters, digits, - and _ only, and start and end with a letter or digit",
  );

export const tokenReport = z.object({
  name: z.string().describe("the owner, as runs and the audit log name it"),
  role: z.enum(roles),
  origin: z.enum(["stored", "configuration"]).describe("`configuration`: of http.tokens, where it is revoked as well"),
  createdAt: instant.nullable(),
  createdBy: z.string().nullable(),
  expiresAt: instant.nullable().describe("null: it does not expire"),
  lastUsedAt: instant.nullable().describe("to the minute; null: never"),
});

export type TokenReport = Readonly<z.infer<typeof tokenReport>>;

export const listTokens = route({
  method: "GET",
  path: "/tokens",
  role: "admin",
  summary: "List the tokens, by name",
  answer: pageOf("tokens", tokenReport),
});

export const createToken = route({
  method: "POST",
  path: "/tokens",
  did: "created the token",
  role: "admin",
  summary: "Create a token, which is valid at once",
  description: "The response has the token, once. Only its SHA-256 is stored.",
  body: z
    .strictObject({
      name,
      role: z.enum(roles),
      expires: z.iso.datetime({ offset: true }).optional().describe("default: it does not expire"),
    })
    .meta({ example: { name: "grafana", role: "viewer", expires: "2099-01-01T00:00:00Z" } }),
  answer: tokenReport.extend({ token: z.string() }),
  about: (created: TokenReport) => `${created.name}, ${created.role}`,
  status: 201,
});

export const revokeToken = deleteRoute({
  path: "/tokens/:name",
  did: "revoked the token",
  role: "admin",
  summary: "Revoke a token, which is invalid at once",
  params: z.strictObject({ name: name.meta({ example: "grafana" }) }),
});
