/**
 * Finds the operation of a path. There are two tables: the operations that the interface shows, and those plus the ones
 * that it only names, at the paths of a public deployment. Authentication, throttling and faults are handled by the
 * exchange.
 */
import { accountOperations, openOperations } from "../accounts/account-operations.ts";
import { namedCredentialOperations, shownCredentialOperations } from "../credentials/credential-operations.ts";
import type { Operation } from "../operation.ts";
import type { ApiGroup, OperationSet } from "../options.ts";
import { namedSimOperations, shownSimOperations } from "../sims/sim-operations.ts";

interface Route {
  /** The parts of the path, `*` for a variable one. */
  readonly parts: readonly string[];
  /** Absent: not subject to a quota. */
  readonly group: ApiGroup | undefined;
  readonly byMethod: Map<string, Operation>;
}

/** A route, and the variable parts of a path, percent-decoded. */
export interface Place extends Route {
  readonly ids: readonly string[];
}

const shown = [...openOperations, ...shownSimOperations, ...shownCredentialOperations];
const routes: Readonly<Record<OperationSet, readonly Route[]>> = {
  interface: routesOf(shown),
  all: routesOf([...shown, ...namedSimOperations, ...namedCredentialOperations, ...accountOperations]),
};

/** Finds the route of a path such as `/v1/sims/8942…/update_speed_class`; no path matches two. */
export function locate(operations: OperationSet, path: string): Place | undefined {
  const given = path.slice(1).split("/");
  const isPart = (part: string, i: number): boolean => (part === "*" ? given[i] !== "" : given[i] === part);
  const route = routes[operations].find(({ parts }) => parts.length === given.length && parts.every(isPart));
  return route && { ...route, ids: given.filter((_, i) => route.parts[i] === "*").map(decoded) };
}

function routesOf(operations: readonly Operation[]): Route[] {
  const byPath = new Map<string, Route>();
  for (const operation of operations) {
    const { path, group, method } = operation;
    const route = byPath.get(path) ?? { parts: path.split("/"), group, byMethod: new Map() };
    byPath.set(path, route);
    route.byMethod.set(method, operation);
  }
  return [...byPath.values()];
}

function decoded(part: string): string {
  if (!part.includes("%")) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
