/**
 * Who may use the control API: the section `http.tokens`, which stores tokens only as SHA-256, and the settings
 * `http.jwt`, which accept the tokens of an identity provider.
 */
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import { type Role, roles } from "#fleet/role.ts";
import { oneOf, text } from "../value-types.ts";
import { given, optional, readSection } from "../section.ts";
import type { ValueOf } from "../schema.ts";
import { readTextFile } from "../file/text-file.ts";
import type { Values } from "../read-settings.ts";
import type { Tree } from "../file/yaml-file.ts";

export interface TokenOptions {
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the token, hex. */
  readonly sha256: string;
  /** Absent: it does not end. */
  readonly expiresAtMs: number | undefined;
}

export interface JwtOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly keys: { readonly jwksUrl: string } | { readonly publicKeyPem: string };
  readonly algorithms: ValueOf<"jwtAlgorithms">;
  /** Steps of the path to the claim. */
  readonly roleClaim: readonly string[];
  readonly roles: Readonly<Record<string, Role>>;
}

/** The control API's part of the configuration. */
export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  readonly adminToken: Secret | undefined;
  readonly tokens: readonly TokenOptions[];
  /** Absent: JWTs are not taken. */
  readonly jwt: JwtOptions | undefined;
  /** As they stand in the `Host` header. */
  readonly hosts: readonly string[];
  readonly uploadBytes: number;
  readonly plansPerCaller: number;
  readonly planBytesPerCaller: number;
  readonly requestsPerMinute: number;
  readonly authFailuresPerMinute: number;
  readonly connections: number;
  /** What the page of the queues is for. */
  readonly queues: ValueOf<"httpQueues">;
  /** Who may read `/metrics`. */
  readonly metrics: ValueOf<"httpMetrics">;
}

export const tokensSection = {
  path: "http.tokens",
  schema: z.strictObject({
    role: given(oneOf(roles), "Role of the token; each role includes the rights of the previous ones."),
    hash: given(
      text("`sha256:` and 64 hexadecimal digits", /^sha256:[0-9a-f]{64}$/),
      "The token's SHA-256, as `simfleet tokens create` prints it; the token itself is not stored.",
    ),
    expires: optional(
      text("an instant such as 2027-01-31T00:00:00Z", /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?Z$/),
      "When the token expires.",
      "it does not end",
    ),
  }),
  about: "Bearer tokens of the control API, by the name of their owners (docs/control-api.md).",
} as const;

export function readTokens(tree: Tree, problems: Problem[]): readonly TokenOptions[] {
  return [...readSection(tree, tokensSection, problems)].map(([name, { role, hash, expires }]) => {
    const expiresAtMs = expires === undefined ? undefined : Date.parse(expires);
    if (Number.isNaN(expiresAtMs)) {
      problems.push({ where: `${tokensSection.path}.${name}.expires`, message: "is not a valid time." });
    }
    return { name, role, sha256: hash.slice("sha256:".length), expiresAtMs };
  });
}

/** JWTs are taken once any of their settings is given; all that are needed have to be there then. */
export function readJwt(values: Values, problems: Problem[]): JwtOptions | undefined {
  const issuer = values.get("jwtIssuer");
  const audience = values.get("jwtAudience");
  const roleNames = values.get("jwtRoles");
  const keys = readKeys(values, problems);
  const needed = { jwtIssuer: issuer, jwtAudience: audience, jwtRoles: roleNames, jwtJwksUrl: keys } as const;
  const missing = (Object.keys(needed) as (keyof typeof needed)[]).filter((id) => needed[id] === undefined);
  if (missing.length === Object.keys(needed).length) return undefined;
  for (const id of missing) {
    if (values.whereOf(id) !== undefined || (id === "jwtJwksUrl" && values.whereOf("jwtPublicKeyFile"))) continue;
    const also = id === "jwtJwksUrl" ? ", or http.jwt.publicKeyFile" : "";
    const where = `http.jwt.${id === "jwtJwksUrl" ? "jwksUrl" : id.slice("jwt".length).toLowerCase()}`;
    problems.push({ where, message: `is also required to accept JWTs. Set it${also}.` });
  }
  if (issuer === undefined || audience === undefined || roleNames === undefined || keys === undefined) return undefined;
  return {
    ...{ issuer, audience, keys, roles: roleNames },
    algorithms: values.getOrDefault("jwtAlgorithms"),
    roleClaim: values.getOrDefault("jwtRoleClaim").split("."),
  };
}

function readKeys(values: Values, problems: Problem[]): JwtOptions["keys"] | undefined {
  const jwksUrl = values.get("jwtJwksUrl");
  const file = values.get("jwtPublicKeyFile");
  const where = values.whereOf("jwtPublicKeyFile") ?? "http.jwt.publicKeyFile";
  if (jwksUrl !== undefined && file !== undefined) {
    problems.push({ where, message: `is given beside ${values.whereOf("jwtJwksUrl")}. Keep one of them.` });
  }
  if (jwksUrl !== undefined) return { jwksUrl };
  if (file === undefined) return undefined;
  const read = readTextFile(file);
  if ("text" in read && read.text.includes("-----BEGIN PUBLIC KEY-----")) return { publicKeyPem: read.text };
  const notPem = `${file} is not a PEM file of a public key (-----BEGIN PUBLIC KEY-----).`;
  problems.push({ where, message: "fault" in read ? read.fault : notPem });
  return undefined;
}
