/** The settings of the control API: address, authentication, and limits on requests. */
import { oneOf, someOf, hostNames, integer, path, roleNames, text, webAddress } from "../value-types.ts";
import type { Setting } from "../setting.ts";

export const httpSettings = {
  httpHost: {
    path: "http.host",
    variable: "SIMFLEET_HTTP_HOST",
    kind: text("a host name or IP address", /^[A-Za-z0-9.:_-]+$/),
    default: "127.0.0.1",
    about: "Address on which the worker's control API and dashboard listen.",
  },
  httpPort: {
    path: "http.port",
    variable: "SIMFLEET_HTTP_PORT",
    kind: integer(0, 65_535),
    default: 8080,
    about: "Port of the control API; 0 takes any free one.",
  },
  adminToken: {
    path: "http.adminToken",
    variable: "SIMFLEET_HTTP_ADMIN_TOKEN",
    kind: text(
      "at least 32 letters, digits and `._~+/=-` (make one with: openssl rand -hex 32)",
      /^[A-Za-z0-9._~+/=-]{32,1024}$/,
    ),
    secret: true,
    about: "Bearer token with all rights on the control API.",
  },
  uploadBytes: {
    path: "http.uploadBytes",
    variable: "SIMFLEET_HTTP_UPLOAD_BYTES",
    kind: integer(1_000, 1_099_511_627_776),
    default: 1_073_741_824,
    about: "Maximum size of an uploaded file in bytes.",
  },
  plansPerCaller: {
    path: "http.plansPerCaller",
    variable: "SIMFLEET_HTTP_PLANS_PER_CALLER",
    kind: integer(1, 1_000_000),
    default: 100,
    about: "Maximum number of plans per caller and worker, uploads in progress included.",
  },
  planBytesPerCaller: {
    path: "http.planBytesPerCaller",
    variable: "SIMFLEET_HTTP_PLAN_BYTES_PER_CALLER",
    kind: integer(1_000, 1_099_511_627_776),
    default: 4_294_967_296,
    about: "Maximum bytes of plans per caller and worker, uploads in progress included.",
  },
  requestsPerMinute: {
    path: "http.requestsPerMinute",
    variable: "SIMFLEET_HTTP_REQUESTS_PER_MINUTE",
    kind: integer(1, 1_000_000),
    default: 1_200,
    about: "Maximum requests per minute, caller and worker to the control API.",
  },
  authFailuresPerMinute: {
    path: "http.authFailuresPerMinute",
    variable: "SIMFLEET_HTTP_AUTH_FAILURES_PER_MINUTE",
    kind: integer(1, 1_000_000),
    default: 20,
    about:
      "Maximum requests per minute, address and worker with a wrong token or signature that are answered with 401; further ones are answered with 429. Requests with a valid token are always accepted.",
  },
  httpConnections: {
    path: "http.connections",
    variable: "SIMFLEET_HTTP_CONNECTIONS",
    kind: integer(10, 1_000_000),
    default: 6_000,
    about: "Maximum open connections per worker, event streams included.",
  },
  httpHosts: {
    path: "http.hosts",
    variable: "SIMFLEET_HTTP_HOSTS",
    kind: hostNames,
    default: [],
    about:
      "Allowed values of the `Host` header, with the port unless it is the default one. On a loopback address all others but its own are rejected; on other addresses an empty list allows all.",
  },
  httpMetrics: {
    path: "http.metrics",
    variable: "SIMFLEET_HTTP_METRICS",
    kind: oneOf(["token", "open"]),
    default: "token",
    about: "Whether `/metrics` needs the token of a viewer, or is open to everyone who can reach the worker.",
  },
  httpQueues: {
    path: "http.queues",
    variable: "SIMFLEET_HTTP_QUEUES",
    kind: oneOf(["read-only", "read-write"]),
    default: "read-only",
    about: "Whether an admin can also change queues on `/queues`: pause, empty and retry.",
  },
  jwtIssuer: {
    path: "http.jwt.issuer",
    variable: "SIMFLEET_HTTP_JWT_ISSUER",
    kind: text(),
    about: "Issuer (`iss`) of the JWTs that the control API accepts besides its own tokens.",
  },
  jwtAudience: {
    path: "http.jwt.audience",
    variable: "SIMFLEET_HTTP_JWT_AUDIENCE",
    kind: text(),
    about: "Required audience (`aud`) of a JWT.",
  },
  jwtJwksUrl: {
    path: "http.jwt.jwksUrl",
    variable: "SIMFLEET_HTTP_JWT_JWKS_URL",
    kind: webAddress,
    about: "Address of the issuer's public keys.",
  },
  jwtPublicKeyFile: {
    path: "http.jwt.publicKeyFile",
    variable: "SIMFLEET_HTTP_JWT_PUBLIC_KEY_FILE",
    kind: path,
    about: "PEM file of the issuer's public key, instead of `http.jwt.jwksUrl`.",
  },
  jwtAlgorithms: {
    path: "http.jwt.algorithms",
    variable: "SIMFLEET_HTTP_JWT_ALGORITHMS",
    kind: someOf(["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA"]),
    default: ["ES256", "RS256", "EdDSA"],
    about: "Algorithms that a JWT may be signed with; none with a shared secret.",
  },
  jwtRoleClaim: {
    path: "http.jwt.roleClaim",
    variable: "SIMFLEET_HTTP_JWT_ROLE_CLAIM",
    kind: text("names with dots between", /^[^\s.]+(?:\.[^\s.]+)*$/),
    default: "roles",
    about: "Claim with the caller's roles, `realm_access.roles` for a nested one; a string or a list of strings.",
  },
  jwtRoles: {
    path: "http.jwt.roles",
    variable: "SIMFLEET_HTTP_JWT_ROLES",
    kind: roleNames,
    about: "Maps values of that claim to roles; the highest role applies.",
  },
} as const satisfies Record<string, Setting>;
