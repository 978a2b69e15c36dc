/** Writes a response to the connection, or breaks the connection as a fault requires. */
import type { ServerResponse } from "node:http";
import type { Language } from "#fleet/profile.ts";
import type { FaultKind } from "../faults.ts";
import { Refusal } from "../refusals.ts";
import type { Result } from "../operation.ts";

export interface Answer {
  readonly status: number;
  /** Raw header list: name, value, name, value. */
  readonly headers: readonly string[];
  /** Empty if the status has no body. */
  readonly body: string;
}

const badGatewayPage =
  "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n";

const longBody = 32_768;

export function asAnswer(result: Result, headers: readonly string[] = []): Answer {
  return {
    status: result.status,
    headers: result.headers === undefined ? headers : [...headers, ...result.headers],
    body: result.text,
  };
}

/** The response to a refused call, in the caller's language. */
export function refused(refusal: Refusal, language: Language, headers: readonly string[] = []): Answer {
  return { status: refusal.status, headers, body: JSON.stringify(refusal.bodyIn(language)) };
}

/** An error whose body has the nested form that some operations use instead of the flat one. */
export function nestedError(language: Language, headers: readonly string[]): Answer {
  const refusal = new Refusal("faulty");
  const body = JSON.stringify({ httpStatus: refusal.status, errorMessage: refusal.bodyIn(language) });
  return { status: refusal.status, headers, body };
}

/** @returns whether the fault prevents the operation from running and has been applied */
export function strike(response: ServerResponse, fault: FaultKind): boolean {
  switch (fault) {
    case "reset":
      response.socket?.resetAndDestroy();
      return true;
    case "hang":
      return true;
    case "html-502":
      response.writeHead(502, ["content-type", "text/html", "content-length", String(badGatewayPage.length)]);
      response.end(badGatewayPage);
      return true;
    case "empty-500":
      response.writeHead(500, ["content-length", "0"]);
      response.end();
      return true;
    default:
      return false;
  }
}

/** Sends the response, unless the fault corrupts it on the way. */
export function deliver(response: ServerResponse, answer: Answer, fault?: FaultKind): void {
  if (fault === "lost-answer" || (fault === "truncated" && answer.body === "")) {
    response.socket?.destroy();
    return;
  }
  if (answer.body === "") {
    response.writeHead(answer.status, [...answer.headers]).end();
    return;
  }
  // A long text is encoded once, instead of once to count the bytes and once to send them.
  const body = answer.body.length > longBody ? Buffer.from(answer.body) : answer.body;
  const length = String(Buffer.byteLength(body));
  response.writeHead(answer.status, ["content-type", "application/json", "content-length", length, ...answer.headers]);
  if (fault === "truncated") {
    const half = answer.body.slice(0, Math.floor(answer.body.length / 2));
    response.write(half, () => response.socket?.destroy());
    return;
  }
  response.end(body);
}
