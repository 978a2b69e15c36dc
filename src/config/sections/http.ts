/**
 * The section `http`: the address and the limits of the control API, and who may use it. Tokens are stored as SHA-256
 * only (`http.tokens`); `http.jwt` accepts the tokens of an identity provider.
 */
import { z } from "zod";
import { roles } from "#fleet/role.ts";
import { readKeySource } from "../secrets/secret-file.ts";
import type { Report } from "../report.ts";
import { group, secret, secretOf, section, setting } from "../setting.ts";
import {
  bearerToken,
  expecting,
  host,
  hostNames,
  integer,
  oneOf,
  path,
  port,
  roleNames,
  someOf,
  text,
  webAddress,
  number,
  plainName,
} from "../value-types.ts";
import { isLoopback } from "#core/loopback.ts";
import { secondMs } from "#core/time.ts";

const token = z.strictObject({
  role: setting(oneOf(roles), "Role of the token; each role includes the rights of the previous ones."),
  hash: setting(
    text("`sha256:` and 64 hexadecimal digits", /^sha256:[0-9a-f]{64}$/),
    "The token's SHA-256, as `sha256sum` prints it; the token itself is not stored.",
  ),
  expires: setting(
    expecting("an instant such as 2027-01-31T00:00:00Z", z.iso.datetime()).optional(),
    "When the token expires.",
    { fallback: "it does not expire" },
  ),
});

export const httpSection = group({
  host: setting(host.default("127.0.0.1"), "Address on which the worker's control API and dashboard listen."),
  port: setting(port.default(8080), "Port of the control API; 0 takes any free one."),
  ...secret("adminToken", bearerToken, { description: "Bearer token with all rights on the control API." }),
  uploadBytes: setting(
    integer(1_000, 1_099_511_627_776).default(1_073_741_824),
    "Maximum size of an uploaded file in bytes.",
  ),
  plansPerCaller: setting(
    integer(1, 1_000_000).default(100),
    "Maximum number of plans per caller, uploads in progress included.",
  ),
  planBytesPerCaller: setting(
    integer(1_000, 1_099_511_627_776).default(4_294_967_296),
    "Maximum bytes of uploaded plans per caller, uploads in progress included.",
  ),
  requestsPerMinute: setting(
    integer(1, 1_000_000).default(1_200),
    "Maximum requests to the control API per minute, for each caller on each worker.",
  ),
  authFailuresPerMinute: setting(
    integer(1, 1_000_000).default(20),
    "Maximum failed authentications per minute, for each client address in each process: these return 401, and further ones 429. Requests with a valid token are always accepted. The gateway counts its own.",
  ),
  connections: setting(
    integer(10, 1_000_000).default(6_000),
    "Maximum open connections of authenticated clients per worker, event streams included.",
  ),
  hosts: setting(
    hostNames.default([]),
    "Allowed values of the `Host` header, with the port unless it is the default one. On a loopback address, all values except its own names and these are rejected; on other addresses an empty list allows all.",
  ),
  metrics: setting(
    oneOf(["token", "open"]).default("token"),
    "Whether `/metrics` needs the token of a viewer, or is open to everyone who can reach the worker.",
  ),
  jwt: group({
    issuer: setting(
      text().optional(),
      "Issuer (`iss`) of the JWTs that the control API accepts besides its own tokens.",
    ),
    audience: setting(text().optional(), "Required audience (`aud`) of a JWT."),
    jwksUrl: setting(webAddress.optional(), "Address of the issuer's public keys."),
    publicKeyFile: setting(path.optional(), "PEM file of the issuer's public key, instead of `http.jwt.jwksUrl`."),
    algorithms: setting(
      someOf(["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA"]).default([
        "ES256",
        "RS256",
        "EdDSA",
      ]),
      "Algorithms that a JWT may be signed with; none with a shared secret.",
    ),
    roleClaim: setting(
      text("names with dots between", /^[^\s.]+(?:\.[^\s.]+)*$/).default("roles"),
      "Claim with the caller's roles, `realm_access.roles` for a nested one; a string or a list of strings.",
    ),
    roles: setting(roleNames.optional(), "Maps values of that claim to roles; the highest role applies."),
  }),
  tokens: section(
    token,
    "Bearer tokens of the control API, by the name of their owners (docs/reference/control-api.md).",
  ),
}).transform(({ adminToken, tokens, ...rest }) => ({
  ...rest,
  adminToken: secretOf(adminToken),
  tokens: Object.entries(tokens).map(([name, { role, hash, expires }]) => ({
    name,
    role,
    /** SHA-256 of the token, hex. */
    sha256: hash.slice("sha256:".length),
    /** Expiry, ms since the epoch. Absent: none. */
    expiresAtMs: expires === undefined ? undefined : Date.parse(expires),
  })),
}));

type Written = z.output<typeof httpSection>;

export type TokenOptions = Readonly<Written["tokens"][number]>;

/** JWTs are taken once any of their settings is given; all that are needed have to be there then. */
export function readJwt(written: Written["jwt"], report: Report) {
  const { issuer, audience, roles: roleOf, algorithms, roleClaim, jwksUrl, publicKeyFile: file } = written;
  const places = { jwksUrl: "http.jwt.jwksUrl", file: "http.jwt.publicKeyFile" };
  const keys = readKeySource({ jwksUrl, file }, places, report);
  const needed = { issuer, audience, roles: roleOf, jwksUrl: keys };
  const missing = Object.entries(needed).flatMap(([key, value]) => (value === undefined ? key : []));
  if (missing.length === Object.keys(needed).length) return undefined;
  for (const key of missing) {
    const isKeys = key === "jwksUrl";
    if (report.isGiven(`http.jwt.${key}`) || (isKeys && report.isGiven("http.jwt.publicKeyFile"))) continue;
    const also = isKeys ? ", or http.jwt.publicKeyFile" : "";
    report.fault(`http.jwt.${key}`, `is also required to accept JWTs. Set it${also}.`);
  }
  if (issuer === undefined || audience === undefined || roleOf === undefined || keys === undefined) return undefined;
  return { issuer, audience, keys, algorithms, roleClaim: roleClaim.split("."), roles: roleOf };
}

/** `roleClaim` has the steps of the path to the claim. */
export type JwtOptions = Readonly<NonNullable<ReturnType<typeof readJwt>>>;

// The section `gateway`: where the proxy for other tools listens, who may use it, and how long its calls wait.

export const gatewaySection = group({
  port: setting(
    port.optional(),
    "Port of the gateway; 0 takes any free one. With it, a worker serves the gateway (docs/gateway.md).",
    { fallback: "a worker serves no gateway; `simfleet gateway` takes 8081" },
  ),
  host: setting(
    host.default("127.0.0.1"),
    "Address on which the gateway listens; one that other machines can reach needs `gateway.token`.",
  ),
  ...secret("token", bearerToken, {
    description: "Bearer token that every call through the gateway needs.",
    fallback: "none: every program on this machine can use it",
  }),
  maxWaitSeconds: setting(
    number(0, 3_600).default(30),
    "Longest wait of a call for its quota in seconds; then it returns 503 and `Retry-After`.",
  ),
  profile: setting(plainName.optional(), "Profile whose account a worker's gateway calls.", {
    fallback: "the selected one (`profile`)",
  }),
}).transform(({ token: written, maxWaitSeconds, ...rest }) => {
  return { ...rest, token: secretOf(written), maxWaitMs: maxWaitSeconds * secondMs };
});

/**
 * Without a port, a worker serves no gateway; without a token, `host` is this machine only.
 * @param known `selected` is the profile where the section names none
 */
export function readGateway(
  written: z.output<typeof gatewaySection>,
  known: { profiles: readonly string[]; selected: string },
  report: Report,
) {
  const { profile = known.selected } = written;
  if (!isLoopback(written.host) && !report.isGiven("gateway.token")) {
    const message = `${written.host} can be reached from other machines: set gateway.tokenFile, or leave it at 127.0.0.1.`;
    report.fault("gateway.host", message);
  }
  report.checkProfile("gateway.profile", profile, known.profiles);
  return { ...written, profile };
}
