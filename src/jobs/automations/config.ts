/** The section `automations`: event-triggered tasks, each with a name. */
import { z } from "zod";
import { factsOfEvent, knownPatterns, typesMeantBy } from "#events/event.ts";
import type { AutomationAction } from "#fleet/task.ts";
import { everySim } from "#fleet/filter.ts";
import type { Known } from "#config/feature-section.ts";
import type { Report } from "#config/report.ts";
import { section, setting } from "#config/setting.ts";
import { expecting, integer, path, profileName } from "#config/value-types.ts";
import { suggestion } from "#core/suggest.ts";
import * as tasks from "#jobs/tasks/config.ts";

const eventNames = expecting(
  "the type of an event such as `sim.added` (docs/reference/events.md), or a list of them",
  z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
);

const schema = section(
  z.strictObject({
    on: setting(eventNames, "Trigger: an event type, `sim.*` for all with this prefix, or a list."),
    where: setting(
      tasks.filterText.optional(),
      "Condition: a filter on the SIM of the event, as the inventory has it then, and on the event itself as `event.field`.",
    ),
    job: setting(
      tasks.jobKind,
      "The task. `apply` applies an operation to the event's SIM; `operation`, `set`, `speedClass`, `rate` and the keys of waves are valid only with `apply`.",
    ),
    profile: setting(
      profileName.default("default"),
      "Only events of this profile, and of SIMs and syncs in its inventory; the task runs in the same profile.",
    ),
    file: setting(path.optional(), "With `report`: the JSON file to write."),
    rotation: tasks.taskKeys.rotation,
    ...tasks.operationKeys,
    rate: tasks.runOptionKeys.rate,
    ...tasks.waveKeys,
    maxPerHour: setting(
      integer(1, 10_000_000).default(10_000),
      "Maximum events per hour; the automation stops itself, with an event, before it exceeds this.",
    ),
  }),
  "Event-triggered tasks, each with a name. See docs/schedules.md.",
);

export const automationsSection = { key: "automations", schema, read: readAutomations };

type Written = z.output<typeof schema>;

/** A task that runs when an event occurs and a condition holds. */
export type Automation = Readonly<ReturnType<typeof readAutomations>[number]>;

function readAutomations(entries: Written, known: Known, report: Report) {
  return Object.entries(entries).flatMap(([name, written]) => {
    const at = `automations.${name}`;
    const fault = (key: string, message: string): void => report.fault(`${at}.${key}`, message);
    const on = parseTypes([written.on].flat(), (message) => fault("on", message));
    const fields = listFields(on, known.fieldsOf(written.profile));
    const condition =
      written.where === undefined
        ? everySim
        : tasks.readFilter(written.where, fields, (message) => fault("where", message));
    const action = parseAction(written, { at, on, known, report });
    const { profile, maxPerHour } = written;
    return action && condition ? [{ name, profile, on, condition, action, maxPerHour }] : [];
  });
}

/** Fields that a condition can name: the SIM's, and those of events as `event.field` (no prefix if there is no SIM). */
function listFields(types: readonly string[], ofSim: readonly string[]): readonly string[] {
  const ofEvents = types.flatMap((type) => Object.keys(factsOfEvent(type)?.fields ?? {}));
  const isAboutSims = types.some((type) => type.startsWith("sim."));
  const isAboutOthers = types.some((type) => !type.startsWith("sim."));
  return [
    ...new Set([
      ...(isAboutSims ? ofSim : []),
      ...ofEvents.map((field) => `event.${field}`),
      ...(isAboutOthers ? ofEvents : []),
    ]),
  ];
}

function parseAction(
  written: Written[string],
  { at, on, known, report }: { at: string; on: readonly string[]; known: Known; report: Report },
): AutomationAction | undefined {
  const { job, profile } = written;
  if (job !== "apply") {
    // Here `where` is the condition, and selects no rows.
    const task = tasks.taskOf({ ...written, where: undefined }, { at, known, report });
    return task?.job === "apply" ? undefined : task;
  }
  const fault = (key: string, message: string): void => report.fault(`${at}.${key}`, message);
  const other = on.find((type) => !type.startsWith("sim."));
  if (other !== undefined) fault("job", `cannot be apply: ${other} does not concern a SIM.`);
  const choice = tasks.operationOf(written, { known, profile, inputs: "all" }, fault);
  const options = tasks.optionsOf({ ...written, partial: true }, fault);
  return choice && { job, ...choice, options };
}

function parseTypes(patterns: readonly string[], fault: (message: string) => void): readonly string[] {
  const types = patterns.flatMap((pattern) => {
    const found = typesMeantBy(pattern);
    if (found.length === 0) {
      fault(`${pattern} is not an event; docs/reference/events.md lists them.${suggestion(pattern, knownPatterns())}`);
    }
    return found;
  });
  const own = types.find((type) => type.startsWith("automation."));
  if (own !== undefined) fault(`${own} cannot trigger an automation: it is about automations.`);
  return [...new Set(types)];
}
