/**
 * Decides who may use the gateway, before anything is read of a request but its head: this machine, or whoever has the
 * token. A page in a browser of this machine may not: its requests name a foreign host, origin or site.
 */
import type { IncomingMessage } from "node:http";
import { SimfleetError } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import type { Clock } from "#core/time.ts";
import { Access } from "#http/auth/access.ts";
import { AuthFailures } from "#http/auth/auth-failures.ts";
import { hostCheck } from "#http/auth/hosts.ts";
import { isCrossSite } from "./headers.ts";

export interface AdmissionOptions {
  readonly host: string;
  readonly port: () => number;
  /** Absent: none is needed. */
  readonly token: Secret | undefined;
  readonly authFailuresPerMinute: number;
  readonly clock: Clock;
}

/** Checks a request. @throws SimfleetError FORBIDDEN, UNAUTHENTICATED, TOO_MANY_REQUESTS after too many wrong tokens */
export type Admit = (request: IncomingMessage) => Promise<void>;

export function admission(options: AdmissionOptions): Admit {
  const { host, port, token, clock, authFailuresPerMinute } = options;
  const isOurHost = hostCheck({ host, port, hosts: [] });
  const adminToken = token?.reveal();
  const access = new Access({ tokens: [], adminToken, jwt: undefined, clock });
  const failures = new AuthFailures({ clock, maxPerMinute: authFailuresPerMinute });
  return async ({ headers, socket }) => {
    if (!isOurHost(headers.host)) throw forbidden("This host name is not that of the gateway: use its address");
    if (isCrossSite(headers)) throw forbidden("Requests of web pages are not allowed");
    if (token === undefined) return;
    try {
      await access.principalOf(headers.authorization);
    } catch (thrown) {
      throw failures.refusal(thrown, { ip: socket.remoteAddress ?? "", authorization: headers.authorization });
    }
  };
}

function forbidden(message: string): SimfleetError {
  return new SimfleetError("FORBIDDEN", message);
}
