/**
 * Describes the failure of an exchange and determines whether the request was sent, which decides about retries. The
 * original error is not kept as a cause: a parser error contains a piece of the response, which may hold a token.
 */
import { PlatformError, codeOf } from "#core/errors.ts";
import { proxyFault } from "#core/proxy.ts";
import type { Address } from "./address.ts";

/** For DNS, connection and TLS together. */
export const connectTimeoutMs = 10_000;

export interface FailedExchange {
  readonly operation: string;
  readonly address: Address;
  readonly method: string;
  /** Whether any part of the request was written to a connection. */
  readonly wasSent: boolean;
  /** The status, if response headers arrived. */
  readonly status: number | undefined;
  readonly answerTimeoutMs: number;
}

/** A response exceeded a local limit. */
export class AnswerLimit extends Error {}

/** The response exceeded the size limit. */
export class AnswerTooLarge extends AnswerLimit {}

export function transportFailure(thrown: unknown, failed: FailedExchange): PlatformError {
  const code = codeOf(thrown) ?? nameOf(thrown);
  const words = failed.wasSent ? lostWords(thrown, code, failed) : unsentWords(thrown, code, failed);
  return new PlatformError("PLATFORM_UNAVAILABLE", `${failed.operation}: ${words}`, {
    operation: failed.operation,
    status: failed.status,
    mayHaveApplied: failed.wasSent,
    isAnswerTooLarge: thrown instanceof AnswerTooLarge,
  });
}

function unsentWords(thrown: unknown, code: string, { address }: FailedExchange): string {
  const { host, setting } = address;
  const fault = proxyFault(thrown, host);
  if (fault !== undefined) return fault;
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "EAI_NODATA":
      return `the host ${host} is not known (${code}). Check ${setting}, or the name service.`;
    case "ECONNREFUSED":
      return `${host} refused the connection. Check that it is running, and the port in ${setting}.`;
    case "UND_ERR_CONNECT_TIMEOUT":
    case "ETIMEDOUT":
      return `no connection to ${host} within ${connectTimeoutMs / 1_000} s. Check ${setting}, firewall and proxy.`;
    case "UND_ERR_CLOSED":
    case "UND_ERR_DESTROYED":
      return `the connection to ${host} is closed, since simfleet is stopping.`;
  }
  if (/CERT|SELF_SIGNED|ALTNAME/.test(code)) {
    return `the certificate of ${host} is not trusted (${code}). For a private certificate authority, set NODE_EXTRA_CA_CERTS.`;
  }
  if (/SSL|TLS|EPROTO/.test(code)) return `TLS with ${host} failed (${code}). Check the scheme and port in ${setting}.`;
  return `no connection to ${host} (${code}). Check ${setting} and the network.`;
}

function lostWords(thrown: unknown, code: string, { address, answerTimeoutMs, method }: FailedExchange): string {
  const { host } = address;
  const so = lostText(method);
  if (thrown instanceof AnswerLimit) return `${thrown.message} (${host})${so}`;
  switch (code) {
    case "UND_ERR_HEADERS_TIMEOUT":
    case "UND_ERR_BODY_TIMEOUT":
      return `no complete response from ${host} within ${answerTimeoutMs / 1_000} s${so}`;
    case "ABORT_ERR":
      return `stopped waiting for ${host}${so}`;
    default:
      return `the connection to ${host} broke before the complete response arrived (${code})${so}`;
  }
}

/** Sentence about a lost response; a read changes nothing. */
export function lostText(method: string): string {
  return method === "GET" ? ". Try again." : ", so the outcome is unknown.";
}

function nameOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "unknown error";
  return thrown.name === "AbortError" ? "ABORT_ERR" : thrown.name;
}
