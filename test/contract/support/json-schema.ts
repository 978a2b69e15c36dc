/** The subset of JSON Schema that the control API's description uses; an unknown keyword is an error in the test. */

type Schema = Readonly<Record<string, unknown>>;

const reported = new Set(["description", "format", "default", "$schema", "title", "examples"]);
const known = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "enum",
  "const",
  "anyOf",
  "propertyNames",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "pattern",
  "minItems",
  "maxItems",
  "not",
]);

/** The problems of a value, each with its location; empty if it is valid. */
export function faultsOf(schema: Schema, value: unknown, at = "$"): string[] {
  const strange = Object.keys(schema).filter((key) => !reported.has(key) && !known.has(key));
  if (strange.length > 0) return [`${at}: the schema has ${strange.join(", ")}, which this test does not know`];
  if (Array.isArray(schema.anyOf)) {
    const tries = (schema.anyOf as Schema[]).map((one) => faultsOf(one, value, at));
    return tries.some((faults) => faults.length === 0) ? [] : tries.flat();
  }
  if ("const" in schema && schema.const !== value) return [`${at} is not ${JSON.stringify(schema.const)}`];
  if (Array.isArray(schema.enum) && !schema.enum.includes(value))
    return [`${at} is ${JSON.stringify(value)}, not of the enum`];
  const types = [schema.type ?? []].flat() as string[];
  if (types.length > 0 && !types.some((type) => isOfType(type, value))) {
    return [`${at} is ${JSON.stringify(value)?.slice(0, 80)}, not ${String(schema.type)}`];
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, n) => faultsOf((schema.items as Schema | undefined) ?? {}, item, `${at}[${n}]`));
  }
  return typeof value === "object" && value !== null
    ? faultsOfObject(schema, value as Record<string, unknown>, at)
    : [];
}

function faultsOfObject(schema: Schema, value: Readonly<Record<string, unknown>>, at: string): string[] {
  const properties = (schema.properties as Readonly<Record<string, Schema>> | undefined) ?? {};
  const missing = ((schema.required as string[] | undefined) ?? []).filter((name) => !Object.hasOwn(value, name));
  const rest = schema.additionalProperties;
  return [
    ...missing.map((name) => `${at}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const own = properties[name];
      if (own !== undefined) return faultsOf(own, inner, `${at}.${name}`);
      if (rest === false) return [`${at}.${name} is not declared`];
      return typeof rest === "object" && rest !== null ? faultsOf(rest as Schema, inner, `${at}.${name}`) : [];
    }),
  ];
}

function isOfType(type: string, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
}
