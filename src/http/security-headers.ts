/**
 * The security headers of all pages: no framing, no resources from other hosts, scripts only from our own files.
 * `upgrade-insecure-requests` and HSTS are left to the TLS proxy in front: over plain HTTP, the first would break the
 * page and the second has no effect.
 */
import type { FastifyHelmetOptions } from "@fastify/helmet";

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
