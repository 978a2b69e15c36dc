/**
 * Checks the content type of a request before its body is read. A route accepts a file only if it declares one
 * (`consumes`), and JSON otherwise. The error lists what the route accepts. It does not check the content itself: the
 * schemas do.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { noBody } from "#contract/fields.ts";

const json = "application/json";

export function addBodyTypes(api: FastifyInstance): void {
  api.addHook("preParsing", (request, _reply, payload, done) => {
    done(faultOf(request), payload);
  });
}

function faultOf({ method, headers, routeOptions }: FastifyRequest): SimfleetError | null {
  const { config, schema, url = "" } = routeOptions;
  if (method === "GET" || method === "HEAD" || config.takesAnyBody === true) return null;
  const written = headers["content-type"] ?? "";
  const isEmpty = (headers["content-length"] ?? "0") === "0" && headers["transfer-encoding"] === undefined;
  if (written === "" && isEmpty) return null;
  const type = written.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const { consumes = [json], body } = (schema ?? {}) as { consumes?: readonly string[]; body?: unknown };
  if (consumes.includes(type)) return null;
  const takesNone = consumes.length === 1 && (body === undefined || body === noBody);
  const taken = takesNone ? "no body: leave it and its Content-Type out" : listed(consumes);
  const given = type === "" ? "what has no Content-Type" : type.slice(0, 100);
  return new SimfleetError("BODY_UNSUPPORTED", `${method} ${url} does not take ${given}. It takes ${taken}`);
}

/** `text/csv, multipart/form-data or application/json` */
function listed(types: readonly string[]): string {
  return types.length < 2 ? types.join("") : `${types.slice(0, -1).join(", ")} or ${types.at(-1)}`;
}
