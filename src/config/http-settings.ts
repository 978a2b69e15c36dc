/** The settings of the control API: where it answers, whom it takes for whom, and what it takes from them. */
import { choice, choices, hostNames, integer, path, roleNames, text, webAddress } from "./kind.ts";
import type { Setting } from "./setting.ts";

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
    about: "Bearer token with every right on the control API.",
  },
  uploadBytes: {
    path: "http.uploadBytes",
    variable: "SIMFLEET_HTTP_UPLOAD_BYTES",
    kind: integer(1_000, 1_099_511_627_776),
    default: 1_073_741_824,
    about: "Most bytes of a file that the control API takes.",
  },
  plansPerCaller: {
    path: "http.plansPerCaller",
    variable: "SIMFLEET_HTTP_PLANS_PER_CALLER",
    kind: integer(1, 1_000_000),
    default: 100,
    about: "Most plans that one caller can have at one worker at once, with files that are just being handed over.",
  },
  planBytesPerCaller: {
    path: "http.planBytesPerCaller",
    variable: "SIMFLEET_HTTP_PLAN_BYTES_PER_CALLER",
    kind: integer(1_000, 1_099_511_627_776),
    default: 4_294_967_296,
    about: "Most bytes of the plans of one caller at one worker, with files that are just being handed over.",
  },
  requestsPerMinute: {
    path: "http.requestsPerMinute",
    variable: "SIMFLEET_HTTP_REQUESTS_PER_MINUTE",
    kind: integer(1, 1_000_000),
    default: 1_200,
    about: "How often one caller may ask the control API of one worker, per minute.",
  },
  authFailuresPerMinute: {
    path: "http.authFailuresPerMinute",
    variable: "SIMFLEET_HTTP_AUTH_FAILURES_PER_MINUTE",
    kind: integer(1, 1_000_000),
    default: 20,
    about:
      "Wrong tokens and signatures of one address that one worker answers with 401 per minute; further ones are answered with 429. Right tokens are taken all the same.",
  },
  httpConnections: {
    path: "http.connections",
    variable: "SIMFLEET_HTTP_CONNECTIONS",
    kind: integer(10, 1_000_000),
    default: 6_000,
    about: "Connections that one worker keeps open at once, event streams included.",
  },
  httpHosts: {
    path: "http.hosts",
    variable: "SIMFLEET_HTTP_HOSTS",
    kind: hostNames,
    default: [],
    about:
      "Names under which the control API is reached, as they stand in the `Host` header, with the port unless it is the usual one. On a loopback address all others but its own are refused; elsewhere all are taken where none is listed.",
  },
  httpMetrics: {
    path: "http.metrics",
    variable: "SIMFLEET_HTTP_METRICS",
    kind: choice(["token", "open"]),
    default: "token",
    about: "Whether `/metrics` needs the token of a viewer, or answers everybody who can reach the worker.",
  },
  httpQueues: {
    path: "http.queues",
    variable: "SIMFLEET_HTTP_QUEUES",
    kind: choice(["read-only", "read-write"]),
    default: "read-only",
    about: "Whether an admin can also change queues on the page `/queues`: pause, empty and retry.",
  },
  jwtIssuer: {
    path: "http.jwt.issuer",
    variable: "SIMFLEET_HTTP_JWT_ISSUER",
    kind: text(),
    about: "Issuer (`iss`) of the JWTs that the control API takes besides its own tokens.",
  },
  jwtAudience: {
    path: "http.jwt.audience",
    variable: "SIMFLEET_HTTP_JWT_AUDIENCE",
    kind: text(),
    about: "Audience (`aud`) that a JWT has to be for.",
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
    kind: choices(["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA"]),
    default: ["ES256", "RS256", "EdDSA"],
    about: "Algorithms that a JWT may be signed with; none with a shared secret.",
  },
  jwtRoleClaim: {
    path: "http.jwt.roleClaim",
    variable: "SIMFLEET_HTTP_JWT_ROLE_CLAIM",
    kind: text("names with dots between", /^[^\s.]+(?:\.[^\s.]+)*$/),
    default: "roles",
    about: "Claim that names what the caller is, `realm_access.roles` for a member; a text or a list of texts.",
  },
  jwtRoles: {
    path: "http.jwt.roles",
    variable: "SIMFLEET_HTTP_JWT_ROLES",
    kind: roleNames,
    about: "Which value of that claim is which role; of several the greatest holds.",
  },
} as const satisfies Record<string, Setting>;
