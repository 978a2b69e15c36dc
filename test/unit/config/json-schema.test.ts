/** The JSON Schema of the configuration accepts and rejects the same structures as the validator. */
import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { jsonSchemaOf } from "#cli/commands/schema.ts";
import { copyOf } from "#config/read-settings.ts";
import { bare } from "#config/setting.ts";
import { seeds } from "../../support/long.ts";
import { configSchema } from "./support.ts";

const ajv = new Ajv({ allowUnionTypes: true, validateFormats: false, logger: false });
const isValid = ajv.compile(jsonSchemaOf(configSchema));

/** How the validator takes a structure: `refined` if a refinement alone finds a fault in it. */
function kindOf(tree: unknown): "accepted" | "refined" | "refused" {
  const { success, error } = configSchema.safeParse(copyOf(tree));
  if (success) return "accepted";
  return error.issues.every(({ code }) => code === "custom") ? "refined" : "refused";
}

const anything = fc.oneof(
  fc.constantFrom(null, true, "", "text", "~/x", "a\nb", 0, -1, 1.5, 20, 1e9, [], ["a"], {}, { a: 1 }),
  fc.jsonValue({ maxDepth: 2 }),
);
const names = fc.constantFrom("default", "ops", "a-b", "-", "", "with space", "x".repeat(65));

/** Values of a type, often right and sometimes not. */
function valueOf(schema: z.ZodType): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: rightValueOf(schema) }, { weight: 1, arbitrary: anything });
}

function rightValueOf(schema: z.ZodType): fc.Arbitrary<unknown> {
  const type = bare(schema);
  if (type instanceof z.ZodObject) return objectOf(type);
  if (type instanceof z.ZodRecord) {
    return fc.dictionary(names, valueOf(type.valueType as z.ZodType), { maxKeys: 2 });
  }
  if (type instanceof z.ZodArray) return fc.array(valueOf(type.element as z.ZodType), { maxLength: 3 });
  if (type instanceof z.ZodTuple) return fc.array(fc.constantFrom("/bin/store", "x", "", "a\0b"), { maxLength: 3 });
  if (type instanceof z.ZodUnion) return fc.oneof(...(type.options as z.ZodType[]).map(rightValueOf));
  if (type instanceof z.ZodEnum) return fc.constantFrom(...type.options);
  if (type instanceof z.ZodBoolean) return fc.boolean();
  if (type instanceof z.ZodNumber) {
    const { minValue, maxValue } = type;
    const bounds = [minValue, maxValue, (minValue ?? 0) - 1, (maxValue ?? 0) + 1].filter((one) => one !== null);
    return fc.oneof(fc.constantFrom(...bounds), fc.integer({ min: 0, max: 100 }), fc.double({ noNaN: true }));
  }
  const { pattern } = z.toJSONSchema(type);
  const texts = fc.constantFrom("https://example.com", "http://example.com", "Asia/Tokyo", "no zone", "text", "5%");
  return pattern === undefined ? texts : fc.oneof(fc.stringMatching(new RegExp(pattern)), texts);
}

function objectOf(type: z.ZodObject): fc.Arbitrary<unknown> {
  const shape = type.shape as Record<string, z.ZodType>;
  const optional = Object.keys(shape).filter((key) => !isRequired(shape[key]));
  const required = Object.keys(shape).filter((key) => isRequired(shape[key]));
  const chosen = fc.tuple(
    fc.subarray(optional, { maxLength: Math.min(4, optional.length) }),
    // One that is missing, sometimes.
    fc.oneof({ weight: 15, arbitrary: fc.constant(required) }, { weight: 1, arbitrary: fc.subarray(required) }),
    fc.oneof({ weight: 15, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.constantFrom(["unknown"]) }),
  );
  return chosen.chain((keys) =>
    fc.record(
      Object.fromEntries(keys.flat().map((key) => [key, fc.option(valueOf(shape[key] ?? z.string()), { freq: 15 })])),
    ),
  );
}

function isRequired(schema: z.ZodType | undefined): boolean {
  return schema?.safeParse(undefined).success === false;
}

const whole = fc
  .constant(configSchema)
  .chain(rightValueOf)
  // zod takes a fraction below a millionth for a whole number.
  .filter((tree) => !/\de-/.test(JSON.stringify(tree)));

describe("the JSON Schema of the configuration", () => {
  test("accepts a structure exactly if the validator finds no fault but in a refinement", () => {
    const seen = { accepted: 0, refused: 0, refined: 0 };
    fc.assert(
      fc.property(whole, (tree) => {
        const kind = kindOf(tree);
        seen[kind] += 1;
        const accepted = isValid(tree);
        expect({ accepted, tree, errors: isValid.errors }).toMatchObject({ accepted: kind !== "refused" });
      }),
      { numRuns: seeds(300, 3_000), seed: 20_261_123 },
    );
    // The structures are of every kind.
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(5);
  });

  test("refuses an entry without a required key", () => {
    expect(isValid({ schedules: { nightly: { job: "sync" } } })).toBe(false);
  });
});
