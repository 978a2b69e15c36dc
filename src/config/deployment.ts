/**
 * A deployment describes one installation of the platform. Two come with simfleet (`svc`, `soracom`); a file of one's
 * own extends either (`svc` where it names none) and says only what differs. docs/deployments.md has every key.
 */
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import { parseRecordPath, type RecordPaths } from "#fleet/record-path.ts";
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
  /** Where a SIM's IMSI and subscription lie in its record. */
  readonly recordPaths: RecordPaths;
}

const builtIn = ["svc", "soracom"] as const;

const recordPath = z
  .string()
  .transform((text, context) => {
    const path = parseRecordPath(text);
    if (path !== undefined) return path;
    context.addIssue(
      "must be names of letters, digits, - and _ joined by dots, with * for any name, such as profiles.*.primaryImsi",
    );
    return z.NEVER;
  })
  .nullable()
  .optional();

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
  records: z.strictObject({ imsi: recordPath, subscription: recordPath }).optional(),
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
  const base =
    nameOrPath === "svc" ? emptyDeployment(nameOrPath) : loadDeployment(read.data.extends ?? "svc", problems);
  return {
    name: nameOrPath,
    brand: read.data.brand ?? base.brand,
    endpoints: { ...base.endpoints, ...read.data.endpoints },
    ttlField: read.data.auth?.ttlField ?? base.ttlField,
    speedClasses: read.data.speedClasses ?? base.speedClasses,
    recordPaths: { ...base.recordPaths, ...takenAway(read.data.records) },
  };
}

function emptyDeployment(name: string): Deployment {
  return { name, brand: "Svc", endpoints: {}, ttlField: undefined, speedClasses: [], recordPaths: {} };
}

/** A file takes away what it sets to null. */
function takenAway(records: z.infer<typeof schema>["records"] = {}): RecordPaths {
  return Object.fromEntries(Object.entries(records).map(([field, path]) => [field, path ?? undefined]));
}

function isAddress(text: string): boolean {
  return address.schema.safeParse(text).success;
}
