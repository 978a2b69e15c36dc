/** The texts of the commands of operations. */

export const operationsSummary = "what runs can do to SIMs";

/** The commands `simfleet operations …`. */
export const operationsStrings = {
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
