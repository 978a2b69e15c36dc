/**
 * The tasks of schedules and automations (`job:`): the keys of each job, and checks for combinations of settings that
 * cannot work. The drop folder has the same keys for its operation and the options of its runs.
 */
import { z } from "zod";
import { type Filter, parseFilter, unknownFieldOf } from "#fleet/filter.ts";
import { type RunOptions, runOptionsOf } from "#fleet/run.ts";
import { failureActions } from "#fleet/waves.ts";
import { readInput, ruleOf } from "#fleet/sim-operation/input.ts";
import {
  operationFor,
  operationNamed,
  setSpeedClassName,
  type SimOperation,
  valuesForAll,
} from "#fleet/sim-operation/sim-operation.ts";
import { type AutomationAction, type Task, taskJobs } from "#fleet/task.ts";
import { type Known, sectionOf } from "#config/feature-section.ts";
import { orFault, type Report } from "#config/report.ts";
import { setting } from "#config/setting.ts";
import { expecting, oneOf, failureLimit, integer, path, profileName, text, yesOrNo } from "#config/value-types.ts";
import { suggestion } from "#core/suggest.ts";
import type { Check } from "#kernel/feature.ts";
import { authKeysSection } from "#jobs/authkeys/config.ts";
import { rotationsSection } from "#jobs/credentials/config.ts";

export const filterText = expecting(
  "a filter such as `tags.site=stadium` (docs/inventory.md), or a list of them",
  z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
);

const operationName = text("the name of an operation (`simfleet operations list`)");

/** Values by input; numbers and booleans may be written without quotes. */
export const inputValues = expecting(
  "a mapping of inputs to values, such as `{ groupId: g-1 }`",
  z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
);

export const operationKeys = {
  operation: setting(operationName.optional(), "What to do to each SIM (docs/reference/operations.md).", {
    fallback: "`set-speed-class`",
  }),
  set: setting(
    inputValues.optional(),
    "Values for inputs of the operation. Any other required inputs must be columns of the file.",
  ),
  speedClass: setting(text().optional(), "Short for `set: { speedClass: … }`."),
};

export const waveKeys = {
  waves: setting(text().optional(), "Process the rows in waves: `20,5%,100%` (docs/change-sims.md)."),
  soak: setting(text().optional(), "Time between the end of a wave and its check."),
  gate: setting(
    text().optional(),
    "Condition for the next wave: a filter and the share of the wave's SIMs that must match it, such as `status=active >= 95%`.",
  ),
  minSample: setting(
    integer(1, 1_000_000).optional(),
    "Minimum number of SIMs for a wave to be checked against the gate; smaller waves are not checked.",
    { fallback: "`1`" },
  ),
  sample: setting(integer(1, 1_000_000).optional(), "Maximum number of SIMs to check after each wave.", {
    fallback: "`200`",
  }),
  onFailure: setting(oneOf(failureActions).optional(), "What to do if a wave does not meet its gate.", {
    fallback: "`pause`",
  }),
};

export const runOptionKeys = {
  partial: setting(
    yesOrNo.optional(),
    "Process the valid rows of a file with invalid ones, instead of rejecting the file.",
    { fallback: "`false`" },
  ),
  skipUnchanged: setting(
    yesOrNo.optional(),
    "Skip SIMs that, according to the inventory, the operation would not change; `false` sends them.",
    { fallback: "those whose record is younger than a day, unless another run of the account is in progress" },
  ),
  maxFailures: setting(failureLimit.optional(), "Abort a run when more rows than this fail or are rejected."),
  ...waveKeys,
  canary: setting(integer(1, 1_000_000).optional(), "Short for the waves `N,100%`."),
  rate: setting(integer(1, 10_000_000).optional(), "Maximum calls per minute of a run."),
};

/** The keys of all jobs; which of them a job takes is checked by `taskOf`. */
export const taskKeys = {
  profile: setting(profileName.default("default"), "Profile (account) in which the task runs."),
  where: setting(filterText.optional(), "Filter for the SIMs of the inventory; with `apply` instead of `file`."),
  file: setting(path.optional(), "With `apply`: the CSV file with the rows; with `report`: the JSON file to write."),
  rotation: setting(text().optional(), "With `rotate`: the name of the rotation."),
  // With `apply`.
  ...operationKeys,
  ...runOptionKeys,
};

export const jobKind = oneOf(taskJobs);

export type WrittenTask = z.output<z.ZodObject<typeof taskKeys>> & { readonly job: Task["job"] };

const applyKeys = Object.keys({ ...operationKeys, ...runOptionKeys }) as (keyof WrittenTask)[];

const keysOf: Readonly<Record<Task["job"], readonly (keyof WrittenTask)[]>> = {
  sync: [],
  usage: [],
  apply: ["where", "file", ...applyKeys],
  rotate: ["rotation"],
  "rotate-authkey": [],
  report: ["file"],
};

/** @returns the task; undefined when it has a fault, which `problems` got */
export function taskOf(written: WrittenTask, { at, known, report }: { at: string; known: Known; report: Report }) {
  const { problems } = report;
  const before = problems.length;
  const fault = (key: string, message: string): void => report.fault(`${at}.${key}`, message);
  const { job, profile } = written;
  for (const key of Object.values(keysOf).flat()) {
    if (written[key] === undefined || keysOf[job].includes(key)) continue;
    if (problems.every(({ where }) => where !== `${at}.${key}`)) fault(key, `does not apply to the job ${job}.`);
  }
  report.checkProfile(`${at}.profile`, profile, known.profiles);
  const task = makeTask(written, { fault, known });
  return problems.length > before ? undefined : task;
}

type Fault = (key: string, message: string) => void;

function makeTask(written: WrittenTask, { fault, known }: { fault: Fault; known: Known }): Task | undefined {
  const { job, profile, rotation = "", file } = written;
  switch (job) {
    case "sync":
      return { job, profile };
    case "usage":
      if (!known.fieldsOf(profile).includes("usage.month")) {
        fault("job", "needs operations.exportUsage in the platform definition.");
      }
      return { job, profile };
    case "apply":
      return parseApply(written, { fault, known });
    case "rotate": {
      const rotations = sectionOf(known, rotationsSection);
      const found = Object.hasOwn(rotations, rotation) ? rotations[rotation] : undefined;
      if (found !== undefined) return { job, rotation, profile: found.profile };
      fault("rotation", `has to name an entry of rotations.${suggestion(rotation, Object.keys(rotations))}`);
      return undefined;
    }
    case "rotate-authkey": {
      const authKeys = sectionOf(known, authKeysSection);
      if (!Object.hasOwn(authKeys, profile) || authKeys[profile]?.user !== undefined)
        fault("job", `needs the section authKeys.${profile} (docs/rotation.md).`);
      return { job, profile };
    }
    case "report":
      if (file === undefined) fault("file", "is missing; it is the JSON file that the report is written to.");
      return { job, profile, file: file ?? "" };
  }
}

function parseApply(written: WrittenTask, { fault, known }: { fault: Fault; known: Known }): Task | undefined {
  const { profile, where, file } = written;
  if ((where === undefined) === (file === undefined)) {
    fault("where", "is required, or file instead of it: exactly one selects the SIMs.");
  }
  const filter =
    where === undefined ? undefined : readFilter(where, known.fieldsOf(profile), (message) => fault("where", message));
  const from = filter === undefined ? { file: file ?? "" } : { filter };
  const inputs = where === undefined ? "some" : "all";
  const choice = operationOf(written, { known, profile, inputs }, fault);
  const options = optionsOf(written, fault);
  return choice && { job: "apply", profile, from, ...choice, options };
}

/** @param fields those that the filter may name, each with its members */
export function readFilter(
  written: string | readonly string[],
  fields: readonly string[],
  fault: (message: string) => void,
): Filter | undefined {
  const filter = orFault(() => parseFilter(written), fault);
  const unknown = filter && unknownFieldOf(filter, fields);
  if (unknown === undefined) return filter;
  fault(`There is no field ${unknown}.${suggestion(unknown, fields)} Known fields: ${fields.join(", ")}.`);
  return undefined;
}

export function optionsOf(written: Partial<Pick<WrittenTask, keyof typeof runOptionKeys>>, fault: Fault): RunOptions {
  const options = orFault(
    () => runOptionsOf(written),
    (message) => fault("waves", `${message}.`),
  );
  return options ?? { partial: false };
}

type WrittenOperation = Pick<WrittenTask, keyof typeof operationKeys>;

/**
 * Checks the operation and the values for all rows.
 * @param inputs `all`: the rows bring no values, so that every required one has to be in `set`
 * @param fault called with the key at fault, and what is wrong
 */
export function operationOf(
  written: WrittenOperation,
  of: { known: Pick<Known, "deployment" | "wordingOf">; profile: string; inputs: "all" | "some" },
  fault: Fault,
) {
  const { operation: name = setSpeedClassName } = written;
  const operation = orFault(
    () => operationFor(operationNamed(of.known.deployment.simOperations, name), of.known.wordingOf(of.profile)),
    (message) => fault("operation", `${message}.`),
  );
  if (operation === undefined) return undefined;
  const set = valuesForAll(written);
  checkValues(operation, set, (field, message) => fault(keyOf(field, written), message));
  if (of.inputs === "all") {
    for (const field of operation.inputs) {
      if (!field.isRequired || field.inventoryField !== undefined || set[field.name] !== undefined) continue;
      fault(field.name === "speedClass" ? "speedClass" : `set.${field.name}`, `is missing; ${name} needs it.`);
    }
  }
  return { operation: name, set };
}

function keyOf(field: string, { speedClass, set }: WrittenOperation): string {
  return field === "speedClass" && speedClass !== undefined && set?.["speedClass"] === undefined
    ? field
    : `set.${field}`;
}

function checkValues(
  { name, inputs }: SimOperation,
  set: Readonly<Record<string, string>>,
  fault: (field: string, message: string) => void,
): void {
  for (const [field, value] of Object.entries(set)) {
    const input = inputs.find((one) => one.name === field);
    if (input === undefined) {
      const names = inputs.map((one) => one.name);
      fault(field, `is not an input of ${name}.${suggestion(field, names)} Inputs: ${names.join(", ") || "none"}.`);
    } else if (input.isSecret) fault(field, "is secret: it can only be a column of a file.");
    else if (readInput(input, value.trim()) === undefined) fault(field, `must be ${ruleOf(input)}.`);
  }
}

/** The file that a task reads or writes. @param what the schedule or automation that has it */
export function filesOf(what: string, task: Task | AutomationAction): Check[] {
  if (task.job === "report") return [{ what, path: task.file, use: "write" }];
  return task.job === "apply" && "from" in task && "file" in task.from
    ? [{ what, path: task.from.file, use: "read" }]
    : [];
}
