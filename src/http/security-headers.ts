/**
 * The security headers of all pages: no framing, no resources from other hosts, scripts only from our own files.
 * `upgrade-insecure-requests` and HSTS are left to the TLS proxy in front: over plain HTTP, the first would break the
 * page and the second has no effect.
 */
import type { FastifyHelmetOptions } from "@fastify/helmet";
import type { FastifyInstance } from "fastify";

const contentSecurityPolicy: Record<string, string[]> = {
  "default-src": ["'none'"],
  "script-src": ["'self'"],
  "style-src": ["'self'"],
  "img-src": ["'self'", "data:"],
  "connect-src": ["'self'"],
  "font-src": ["'self'"],
  "base-uri": ["'none'"],
  "form-action": ["'self'"],
  "frame-ancestors": ["'none'"],
};

export const securityHeaders: FastifyHelmetOptions = {
  contentSecurityPolicy: { useDefaults: false, directives: contentSecurityPolicy },
  strictTransportSecurity: false,
  xFrameOptions: { action: "deny" },
  referrerPolicy: { policy: "no-referrer" },
  crossOriginResourcePolicy: { policy: "same-origin" },
};

/** Gives the pages of one part of the server directives of their own, in place of those of the policy for all. */
export function widenPolicy(part: FastifyInstance, directives: Readonly<Record<string, string[]>>): void {
  const policy = Object.entries({ ...contentSecurityPolicy, ...directives });
  const text = policy.map(([name, sources]) => `${name} ${sources.join(" ")}`).join(";");
  part.addHook("onSend", (_request, reply, payload, done) => {
    if (String(reply.getHeader("content-type")).startsWith("text/html")) reply.header("content-security-policy", text);
    done(null, payload);
  });
}
