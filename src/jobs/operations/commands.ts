/** `simfleet operations …`: what runs can do to SIMs. */
import { Command } from "@commander-js/extra-typings";
import { type Context, withCaller } from "#cli/context.ts";
import { listCommand, listOf } from "#cli/list.ts";
import { listOperations, type OperationReport, showOperation } from "./contract.ts";

export function operationsCommand(context: Context): Command {
  return new Command("operations")
    .addCommand(listCommand(context, "operations", operationList, "List the operations of the platform definition"), {
      isDefault: true,
    })
    .addCommand(showCommand(context));
}

const operationList = listOf("operations", listOperations, {
  empty: "The platform definition has no operations.",
  columns: [
    { name: "name", heading: "operation" },
    {
      name: "inputs",
      value: ({ inputs }) => inputs.map(({ name, required }) => (required ? name : `[${name}]`)).join(" "),
    },
    { name: "danger" },
    { name: "undo", value: ({ undo }) => undo[0] ?? "none" },
    { name: "summary" },
  ],
});

function showCommand(context: Context): Command {
  const command = new Command("show")
    .description("Show an operation: inputs, quota, undo and an example file")
    .argument("<operation>", "name of the operation");
  return withCaller(context, command, "simfleet operations show set-group", async (caller, operation) => {
    const { client, profile, output } = caller;
    output.answer(await client.call(showOperation, { params: { operation }, query: { profile } }), describeOperation);
  });
}

function describeOperation(operation: OperationReport): string {
  const { name, summary, group, inputs, sets, requires, repeat, undo, danger, costlyWhen, example } = operation;
  const facts: [string, string][] = [
    ["quota", group],
    ["sets", sets.join(", ") || "no field of the inventory"],
    ["requires", requires ?? "nothing"],
    ["no response", repeat === "safe" ? "the call is sent again" : "the call is never sent again"],
    ["undo", undo.join(", or ") || "none"],
    ["danger", costlyWhen === null ? danger : `${danger} when ${costlyWhen}`],
    ["inputs", inputs.length === 0 ? "none" : ""],
  ];
  return [
    `${name}  ${summary}`,
    ...facts.map(([label, value]) => `  ${label.padEnd(12)} ${value}`.trimEnd()),
    ...inputs.map(
      (input) =>
        `    ${input.name}  ${input.rule}${input.required ? "" : " (optional)"}${input.secret ? " (secret)" : ""}`,
    ),
    "",
    "Example file:",
    ...example.map((line) => `  ${line}`),
    "",
    `  simfleet apply FILE${name === "set-speed-class" ? "" : ` --operation ${name}`}`,
  ].join("\n");
}
