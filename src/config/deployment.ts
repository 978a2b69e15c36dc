/**
 * A deployment describes one installation of the platform. Two come with simfleet (`svc`, `soracom`); a file of one's
 * own can extend either and say only what differs.
 */
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import { isSpeedClass } from "#fleet/speed-class.ts";
import { settings } from "./schema.ts";
import { suggestion } from "./suggest.ts";
import { readYaml } from "./yaml-file.ts";

export interface Deployment {
  /** `svc`, `soracom`, or the path of the file. */
  readonly name: string;
  /** The word in the header names. */
  readonly brand: string;
  /** Base addresses without `/v1`. */
  readonly endpoints: { readonly global?: string | undefined; readonly japan?: string | undefined };
  /** The field of an authentication request that asks for a pair's lifetime, where it is known. */
  readonly ttlField: string | undefined;
  /** Speed classes that are known to exist; empty where none are listed, and never complete. */
  readonly speedClasses: readonly string[];
}

const builtIn = ["svc", "soracom"] as const;

const address = settings.endpointGlobal.kind;
const schema = z.strictObject({
  extends: z.enum(builtIn).optional(),
  brand: settings.brand.kind.schema.optional(),
  endpoints: z
    .strictObject({
      global: z.string().refine(isAddress, `must be ${address.expects}`).optional(),
      japan: z.string().refine(isAddress, `must be ${address.expects}`).optional(),
    })
    .optional(),
  auth: z
    .strictObject({
      ttlField: z
        .string()
        .regex(/^[A-Za-z]+$/)
        .optional(),
    })
    .optional(),
  speedClasses: z.array(z.string().refine(isSpeedClass, "cannot be a speed class")).optional(),
});

/**
 * Loads a deployment by name or by path.
 * @param problems takes every fault, named by file and key
 */
export function loadDeployment(nameOrPath: string, problems: Problem[]): Deployment {
  const isBuiltIn = builtIn.some((name) => name === nameOrPath);
  if (!isBuiltIn && /^[\w-]+$/.test(nameOrPath)) {
    const meant = suggestion(nameOrPath, builtIn);
    problems.push({
      where: "deployment",
      message: `There is no deployment ${nameOrPath}.${meant} Known are ${builtIn.join(" and ")}; a path of a file has a / or a dot in it.`,
    });
    return emptyDeployment(nameOrPath);
  }
  const file = isBuiltIn
    ? fileURLToPath(new URL(`../../config/deployments/${nameOrPath}.yaml`, import.meta.url))
    : nameOrPath;
  const before = problems.length;
  const tree = readYaml(file, problems);
  if (problems.length > before) return emptyDeployment(nameOrPath);
  const read = schema.safeParse(tree);
  if (!read.success) {
    for (const issue of read.error.issues) {
      problems.push({ where: [file, issue.path.join(".")].filter(Boolean).join(": "), message: issue.message });
    }
    return emptyDeployment(nameOrPath);
  }
  const base = read.data.extends ? loadDeployment(read.data.extends, problems) : emptyDeployment(nameOrPath);
  return {
    name: nameOrPath,
    brand: read.data.brand ?? base.brand,
    endpoints: { ...base.endpoints, ...read.data.endpoints },
    ttlField: read.data.auth?.ttlField ?? base.ttlField,
    speedClasses: read.data.speedClasses ?? base.speedClasses,
  };
}

function emptyDeployment(name: string): Deployment {
  return { name, brand: "Svc", endpoints: {}, ttlField: undefined, speedClasses: [] };
}

function isAddress(text: string): boolean {
  return address.schema.safeParse(text).success;
}
