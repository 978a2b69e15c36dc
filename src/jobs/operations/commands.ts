/** `simfleet operations …`: what runs can do to SIMs. */
import { Command } from "@commander-js/extra-typings";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, withListOptions } from "#cli/list.ts";
import { listOperations, type OperationReport, showOperation } from "./contract.ts";

const operationsStrings = {
  list: "list the operations of the deployment",
  none: "The deployment has no operations.",
  headings: { operation: "operation" },
  show: "show an operation: inputs, quota, undo and an example file",
  operation: "name of the operation",
  labels: {
    quota: "quota",
    sets: "sets",
    requires: "requires",
    noResponse: "no response",
    undo: "undo",
    danger: "danger",
    inputs: "inputs",
  },
  setsNothing: "no field of the inventory",
  requiresNothing: "nothing",
  sentAgain: "the call is sent again",
  neverSentAgain: "the call is never sent again",
  undoSeparator: ", or ",
  noUndo: "none",
  dangerWhen: (danger: string, condition: string) => `${danger} when ${condition}`,
  noInputs: "none",
  optional: " (optional)",
  secret: " (secret)",
  exampleFile: "Example file:",
} as const;

export function operationsCommand(context: Context): Command {
  return new Command("operations").addCommand(listCommand(context)).addCommand(showCommand(context));
}

function listCommand(context: Context): Command {
  const command = withListOptions(new Command("list").description(operationsStrings.list));
  return withCommon(command, "simfleet operations list").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client, profile }) =>
      client.call(listOperations, { query: { profile } }),
    );
    answerList(output, page, operationList, options);
  });
}

const operationList: List<"operations", OperationReport> = {
  name: "operations",
  route: listOperations,
  empty: operationsStrings.none,
  columns: [
    { name: "name", heading: operationsStrings.headings.operation },
    {
      name: "inputs",
      value: ({ inputs }) => inputs.map(({ name, required }) => (required ? name : `[${name}]`)).join(" "),
    },
    { name: "danger" },
    { name: "undo", value: ({ undo }) => undo[0] ?? operationsStrings.noUndo },
    { name: "summary" },
  ],
};

function showCommand(context: Context): Command {
  const command = new Command("show")
    .description(operationsStrings.show)
    .argument("<operation>", operationsStrings.operation);
  return withCommon(command, "simfleet operations show set-group").action(async (operation, options) => {
    const output = context.output(options);
    const report = await context.connect(options, ({ client, profile }) =>
      client.call(showOperation, { params: { operation }, query: { profile } }),
    );
    output.answer(report, textOf);
  }) as unknown as Command;
}

function textOf(operation: OperationReport): string {
  const { name, summary, group, inputs, sets, requires, repeat, undo, danger, costlyWhen, example } = operation;
  const { labels } = operationsStrings;
  const facts: [string, string][] = [
    [labels.quota, group],
    [labels.sets, sets.join(", ") || operationsStrings.setsNothing],
    [labels.requires, requires ?? operationsStrings.requiresNothing],
    [labels.noResponse, repeat === "safe" ? operationsStrings.sentAgain : operationsStrings.neverSentAgain],
    [labels.undo, undo.join(operationsStrings.undoSeparator) || operationsStrings.noUndo],
    [labels.danger, costlyWhen === null ? danger : operationsStrings.dangerWhen(danger, costlyWhen)],
  ];
  return [
    `${name}  ${summary}`,
    ...facts.map(([label, value]) => `  ${label.padEnd(12)} ${value}`),
    inputs.length === 0 ? `  ${labels.inputs.padEnd(12)} ${operationsStrings.noInputs}` : `  ${labels.inputs}`,
    ...inputs.map(
      (input) =>
        `    ${input.name}  ${input.rule}${input.required ? "" : operationsStrings.optional}${input.secret ? operationsStrings.secret : ""}`,
    ),
    "",
    operationsStrings.exampleFile,
    ...example.map((line) => `  ${line}`),
    "",
    `  simfleet apply FILE${name === "set-speed-class" ? "" : ` --operation ${name}`}`,
  ].join("\n");
}
