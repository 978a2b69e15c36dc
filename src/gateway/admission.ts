/**
 * Decides who may use the gateway, before anything is read of a request but its head: this machine, or whoever has the
 * token. A page in a browser of this machine may not: its requests name a foreign host, origin or site.
 */
import type { IncomingMessage } from "node:http";
import { SimfleetError } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import type { Clock } from "#core/time.ts";
import { Access } from "#http/auth/access.ts";
import { hostCheck } from "#http/auth/hosts.ts";
import { isCrossSite } from "./headers.ts";

export interface AdmissionOptions {
  readonly host: string;
  readonly port: () => number;
  /** Absent: none is needed. */
  readonly token: Secret | undefined;
  readonly clock: Clock;
}

/** Checks a request. @throws SimfleetError FORBIDDEN, UNAUTHENTICATED */
export type Admit = (request: IncomingMessage) => Promise<void>;

export function admission({ host, port, token, clock }: AdmissionOptions): Admit {
  const isOurHost = hostCheck({ host, port, hosts: [] });
  const adminToken = token?.reveal();
  const access = new Access({ tokens: [], adminToken, jwt: undefined, clock });
  return async ({ headers }) => {
    if (!isOurHost(headers.host)) throw forbidden("This host name is not that of the gateway: use its address");
    if (isCrossSite(headers)) throw forbidden("Requests of web pages are not allowed");
    if (token !== undefined) await access.principalOf(headers.authorization);
  };
}

function forbidden(message: string): SimfleetError {
  return new SimfleetError("FORBIDDEN", message);
}
