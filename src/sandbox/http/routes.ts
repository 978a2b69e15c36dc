/**
 * Finds the operation of a path. There are two tables: the operations that the interface shows, and those plus the ones
 * that it only names, at the paths of a public deployment. Authentication, throttling and faults are handled by the
 * exchange.
 */
import { accountOperations, openOperations } from "../accounts/account-operations.ts";
import { createCredential, otherCredentialOperations } from "../credentials/credential-operations.ts";
import { groupOperations } from "../credentials/group-operations.ts";
import type { Operation } from "../operation.ts";
import { simActionOperations } from "../sim-actions/operations.ts";
import { simOperations } from "../sims/sim-operations.ts";
import type { ApiGroup, OperationSet } from "../options.ts";

/** A route: its API group, its operations by method, and the variable parts of the path. */
interface Place {
  /** Absent: not subject to a quota. */
  readonly group: ApiGroup | undefined;
  readonly byMethod: ReadonlyMap<string, Operation>;
  /** Percent-decoded. */
  readonly ids: readonly string[];
}

/** One step of a path. */
interface Step {
  readonly byText: Map<string, Step>;
  variable: Step | undefined;
  group: ApiGroup | undefined;
  readonly byMethod: Map<string, Operation>;
}

const shown = [...openOperations, ...simOperations, createCredential];
const roots: Readonly<Record<OperationSet, Step>> = {
  interface: treeOf(shown),
  all: treeOf([
    ...shown,
    ...simActionOperations,
    ...otherCredentialOperations,
    ...accountOperations,
    ...groupOperations,
  ]),
};

/** Finds the route of a path such as `/v1/sims/8942…/update_speed_class`. */
export function locate(operations: OperationSet, path: string): Place | undefined {
  let step: Step | undefined = roots[operations];
  const ids: string[] = [];
  for (const part of path.slice(1).split("/")) {
    const next: Step | undefined = step.byText.get(part);
    if (next === undefined) ids.push(decoded(part));
    step = next ?? (part === "" ? undefined : step.variable);
    if (step === undefined) return undefined;
  }
  return step.byMethod.size === 0 ? undefined : { group: step.group, byMethod: step.byMethod, ids };
}

function treeOf(operations: readonly Operation[]): Step {
  const root = emptyStep();
  for (const operation of operations) {
    let step = root;
    for (const part of operation.path.split("/")) step = stepInto(step, part);
    step.group = operation.group;
    step.byMethod.set(operation.method, operation);
  }
  return root;
}

function stepInto(step: Step, part: string): Step {
  const known = part === "*" ? step.variable : step.byText.get(part);
  if (known) return known;
  const next = emptyStep();
  if (part === "*") step.variable = next;
  else step.byText.set(part, next);
  return next;
}

function emptyStep(): Step {
  return { byText: new Map(), variable: undefined, group: undefined, byMethod: new Map() };
}

function decoded(part: string): string {
  if (!part.includes("%")) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
