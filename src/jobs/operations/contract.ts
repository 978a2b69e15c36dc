/** The routes of the SIM operations of the platform definition. */
import { z } from "zod";
import { count, list, ofProfile, pageOf } from "#contract/fields.ts";
import { getRoute } from "#contract/route.ts";
import { dangers } from "#fleet/sim-operation/danger.ts";
import { inputTypes } from "#fleet/sim-operation/input.ts";

export const operationInput = z.object({
  name: z.string(),
  type: z.enum(inputTypes),
  required: z.boolean(),
  rule: z.string().describe("the valid values in words"),
  values: list(z.string()).optional(),
  maxLength: count.optional(),
  secret: z.boolean().describe("encrypted in Redis, and in no log or results file"),
  fromInventory: z.boolean().describe("taken from the inventory if a row has no value"),
});

export const operationReport = z.object({
  name: z.string(),
  summary: z.string(),
  group: z.string().describe("API group whose quota a call uses"),
  keyColumn: z.enum(["simId", "imsi"]).describe("column that identifies a SIM"),
  inputs: list(operationInput).describe("columns of a file, or values for all rows"),
  sets: list(z.string()).describe("fields of the SIM that it sets or removes"),
  requires: z.string().nullable().describe("filter that a SIM has to match"),
  repeat: z.enum(["safe", "unsafe"]).describe("whether a call whose response was lost is sent again"),
  undo: list(z.string()).describe("operations that undo it; empty: it has no undo"),
  danger: z.enum(dangers),
  costlyWhen: z.string().nullable().describe("only SIMs that match this filter cost money"),
  example: list(z.string()).describe("the lines of an example file, CSV"),
});

export type OperationReport = Readonly<z.infer<typeof operationReport>>;

export const listOperations = getRoute({
  path: "/operations",
  summary: "List what runs can do to SIMs",
  query: z.strictObject(ofProfile),
  answer: pageOf("operations", operationReport),
});

export const showOperation = getRoute({
  path: "/operations/:operation",
  summary: "Get an operation: inputs, quota, undo and an example file",
  params: z.strictObject({ operation: z.string().min(1).max(64).meta({ example: "set-speed-class" }) }),
  query: z.strictObject(ofProfile),
  answer: operationReport,
});
