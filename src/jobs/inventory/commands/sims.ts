/** `simfleet sims …`: the inventory. */
import * as routes from "../contract.ts";
import { inventory } from "../feature.ts";
import { type SimDocument, type SyncReport, changeTypes } from "../contract.ts";
import { type Context, type Caller, withCaller, choiceOption } from "#cli/context.ts";
import { sinceOption, assertFilter, whereOption } from "#cli/values.ts";
import { listOf, answerList, fieldsText, oneDocument, withPageOptions, withListOptions } from "#cli/list.ts";
import { counted, duration, nextAttemptText, problemText } from "#cli/format.ts";
import { grouped } from "#core/grouped.ts";
import { writeResults } from "#core/files/output-file.ts";
import { hintForNoMatch, parseFilter } from "#fleet/filter.ts";
import { Command, Option, type OptionValues } from "@commander-js/extra-typings";
import * as usageRoutes from "#jobs/usage/contract.ts";
import { bucketOf } from "#api/operations/operation.ts";
import { listSims } from "#api/operations/sims.ts";
import { followWork, localWork, sayIfUnserved, showStatus } from "#cli/follow/follow-work.ts";
import type { App } from "#kernel/app.ts";

export function simsCommand(context: Context): Command {
  return new Command("sims")
    .addCommand(syncCommand(context))
    .addCommand(listCommand(context), { isDefault: true })
    .addCommand(countCommand(context))
    .addCommand(showCommand(context))
    .addCommand(exportCommand(context))
    .addCommand(changesCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list").description("List SIMs, most recently added first");
  const example =
    "simfleet sims list --where speedClass=s1.fast --where tags.site=berlin --sort -groupId\nsimfleet sims list --where 'status in (active, ready) and groupId not exists' --json";
  return withCaller(context, withPageOptions(withSelection(command)), example, async (caller, options) => {
    const { client, output } = caller;
    const { limit, cursor, columns, sort } = options;
    const query = { ...toQuery(options, caller), limit, cursor, sort };
    const page = await client.call(routes.listSims, { query });
    // The route sorts all SIMs, not only those of the page.
    answerList(output, page, simList(page.sims), { limit, columns });
    await explainNone(caller, options, { ...page, isNone: page.sims.length === 0 });
  });
}

/** The options that select SIMs. A filter that cannot be read is rejected before anything is opened. */
function withSelection<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .addOption(whereOption("only SIMs that match a filter"))
    .option("--gone", "only SIMs that the platform no longer lists")
    .addOption(new Option("--all-profiles", "SIMs of all profiles, each with its profile").conflicts("profile"))
    .hook("preAction", (_, selecting) => {
      const { where }: SelectionOptions = selecting.opts();
      assertFilter(where);
    });
}

interface SelectionOptions {
  readonly where?: string[] | undefined;
  readonly gone?: true | undefined;
  readonly allProfiles?: true | undefined;
}

function toQuery({ where, gone, allProfiles }: SelectionOptions, { profile }: Pick<Caller, "profile">) {
  const ofProfiles = allProfiles === true ? { allProfiles: "true" as const } : { profile };
  return { ...ofProfiles, where, gone: gone === true ? ("true" as const) : undefined };
}

const firstFields = ["profile", "simId", "imsi", "speedClass", "status", "groupId", "tags"];
const hiddenFields: ReadonlySet<string> = new Set(["addedAt", "updatedAt", "updatedBy", "goneAt", "seenAt"]);

/** The fields that are kept differ by configuration; their order does not depend on the SIMs. */
function simList(sims: readonly SimDocument[]) {
  const fields = new Set(sims.flatMap((sim) => Object.keys(sim)));
  const others = [...fields].filter((name) => !firstFields.includes(name) && !hiddenFields.has(name)).toSorted();
  const names = [...firstFields.filter((name) => fields.has(name)), ...others, "seenAt"];
  return listOf("sims", routes.listSims, { empty: "No SIM matches.", columns: names.map((name) => ({ name })) });
}

function showCommand(context: Context): Command {
  const command = new Command("show")
    .description("Show one SIM as last seen, or as it is now")
    .argument("<sim>", "SIM ID, or IMSI")
    .option("--fresh", "read it from the platform now; uses one call");
  const example = "simfleet sims show 8942310022000012345 --fresh";
  return withCaller(context, command, example, async ({ client, profile, output }, key, { fresh }) => {
    const request = { params: { sim: key }, query: { profile } };
    const sim: Readonly<Record<string, unknown>> =
      fresh === true ? await client.call(routes.readSim, request) : await client.call(routes.showSim, request);
    output.answer(sim, fieldsText);
  });
}

// `simfleet sims changes`: changes of the fleet, by runs, and external ones.

const kinds = changeTypes.map((type) => type.slice("sim.".length));

function changesCommand(context: Context): Command {
  const command = new Command("changes")
    .description("List changes of the fleet, newest first")
    .addOption(sinceOption("only changes since"))
    .option("--sim <sim>", "only changes of this SIM")
    .option("--field <field>", "only changes of this field, such as speedClass or tags.site")
    .addOption(choiceOption("--by <who>", "only changes by runs, or only external changes", ["run", "external"]))
    .addOption(choiceOption("--kind <kind>", "only this kind of change", kinds));
  const example = "simfleet sims changes --since 24h --by external --field speedClass";
  return withCaller(context, withPageOptions(command), example, async ({ client, profile, output }, options) => {
    const { since, sim, field, by, kind, limit, cursor } = options;
    const type = changeTypes.find((one) => one === `sim.${kind}`);
    const query = { profile, sim, field, by, type, since, limit, cursor };
    answerList(output, await client.call(routes.listChanges, { query }), changeList, options);
  });
}

const changeList = listOf("changes", routes.listChanges, {
  empty: "No changes recorded.",
  columns: [
    { name: "at" },
    { name: "kind", value: ({ type }) => type.slice("sim.".length) },
    { name: "sim" },
    {
      name: "what",
      value: ({ field, before, after }) =>
        field === undefined ? "" : `${field}: ${valueText(before)} -> ${valueText(after)}`,
    },
    { name: "by" },
    { name: "cause" },
  ],
});

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

// `simfleet sims count`: how many SIMs there are, in all or for each value of a field.

const countedText = (sims: number) => counted(sims, "SIM");

function countCommand(context: Context): Command {
  const command = withSelection(
    new Command("count").description("Count SIMs in total or by the values of a field"),
  ).option("--by <field>", "count for each value of this field, such as speedClass or tags.site");
  const example = "simfleet sims count --where tags.site=berlin\nsimfleet sims count --by speedClass";
  return withCaller(context, withListOptions(command), example, async (caller, options) => {
    const { client, output } = caller;
    const { by } = options;
    const counts = await client.call(routes.countSimsBy, { query: { ...toQuery(options, caller), by } });
    const { profiles, total } = counts;
    if (by === undefined && profiles !== undefined)
      answerList(output, { ...counts, profiles }, profileList(total), options);
    else if (by === undefined) output.answer(counts, () => countedText(total));
    else answerList(output, counts, valueList(by, counts), options);
    await explainNone(caller, options, { ...counts, isNone: total === 0 });
  });
}

/** Says that no sync has been complete, or why the filter of a command may match no SIM. */
async function explainNone(
  { client, profile, output }: Caller,
  { where, allProfiles }: SelectionOptions,
  { isComplete, isNone }: { isComplete: boolean; isNone: boolean },
): Promise<void> {
  if (!isComplete) return output.say("The inventory has not been synced yet; run: simfleet sims sync");
  if (!isNone || where === undefined || allProfiles === true) return;
  const { fields } = await client.call(routes.listSimFields, { query: { profile } });
  const valuesOf = (field: string) => fields.find(({ name }) => name === field)?.values ?? [];
  const hint = hintForNoMatch(parseFilter(where), valuesOf);
  if (hint !== undefined) output.say(hint);
}

function profileList(total: number) {
  return listOf("profiles", routes.countSimsBy, {
    empty: "There is no profile.",
    columns: [{ name: "profile" }, { name: "count", heading: "SIMs" }],
    below: () => [countedText(total)],
  });
}

function valueList(field: string, { profiles, total }: routes.SimCounts) {
  return listOf("values", routes.countSimsBy, {
    empty: "No SIM matches.",
    columns: [
      ...(profiles === undefined ? [] : [{ name: "profile" }]),
      { name: "value", heading: field },
      { name: "count", heading: "SIMs" },
    ],
    below: () => [countedText(total)],
  });
}

// `simfleet sims export`: the inventory as a file.

function exportCommand(context: Context): Command {
  const command = withSelection(
    new Command("export")
      .description("Export the inventory as CSV (accepted by plan and apply) or as NDJSON with raw values")
      .addOption(choiceOption("--format <format>", "format of the output", ["csv", "ndjson"]).default("csv")),
  )
    .option("--columns <names>", "comma-separated CSV columns, such as simId,speedClass,tags.site")
    .option("-o, --out <file>", "write to this file atomically (default: stdout)");
  const example = "simfleet sims export --where tags.site=berlin --columns simId,speedClass --out berlin.csv";
  return withCaller(context, command, example, async (caller, options) => {
    const { client, output } = caller;
    const { columns, out } = options;
    const isNdjson = options.format === "ndjson" || (out === undefined && output.isJson);
    const format = isNdjson ? "ndjson" : "csv";
    const query = { ...toQuery(options, caller), columns, format } as const;
    const lines = await client.call(routes.exportSims, { query });
    if (out !== undefined) {
      await writeResults(out, lines, "Choose another path with --out");
      return output.answer({ file: out, format }, (shown) => `Inventory: ${shown.file}`);
    }
    for await (const text of output.isJson ? oneDocument("sims", lines) : lines) await output.stream(text);
  });
}

// `simfleet sims sync`: syncs the inventory and shows the progress.

function syncCommand(context: Context): Command {
  const command = new Command("sync")
    .description("Sync the inventory with the platform; resumes an interrupted sync")
    .option("--restart", "start over from the first page")
    .addOption(new Option("--usage", "read the usage of the SIMs instead").conflicts(["restart", "detach"]))
    .option("--detach", "return immediately; needs a running worker");
  return withCaller(context, command, "simfleet sims sync", async (caller, options) => {
    const { client, profile, app, output, interrupt } = caller;
    // Reports wrong credentials now instead of in a worker's log.
    if (app !== undefined && options.detach !== true) {
      await app.kernel.account(app.kernel.config.profile).identify?.(interrupt);
    }
    if (options.usage === true) return readUsage(caller);
    const query = { profile, restart: options.restart === true ? "true" : undefined } as const;
    const started = await client.call(routes.startSync, { query });
    if (started.pages > 0)
      output.say(`Resuming the sync of ${started.startedAt}, after ${counted(started.pages, "page")}.`);
    if (options.detach !== true) {
      const { report, exitCode: code } = await followSync(started.profile, caller);
      output.answer(report, syncText);
      return code;
    }
    output.answer(started, ({ syncId }) => syncId);
    const hint =
      "No worker is running: the sync starts with the next one (simfleet worker), or with: simfleet sims sync";
    await sayIfUnserved(localWork(app, inventory, started.profile), output, hint);
    return 0;
  });
}

/** @returns the exit code */
async function readUsage({ client, profile, output }: Caller): Promise<number> {
  const report = await client.call(usageRoutes.syncUsage, { query: { profile } });
  output.answer(report, ({ isOver, sims, unknown, crossed }) => {
    if (!isOver) return "The worker reads it: simfleet events tail --type 'usage.*'";
    const others = unknown === 0 ? "" : `; ${counted(unknown, "SIM")} of the export not in the inventory`;
    return `${counted(sims, "SIM")} with usage, ${grouped(crossed)} over a threshold${others}`;
  });
  return 0;
}

function syncText(report: SyncReport): string {
  const { added, changed, returned, gone, seconds, reason } = report;
  if (report.state === "failed") return `The sync failed: ${reason ?? "unknown reason"}`;
  const news = Object.entries({ added, changed, returned, gone }).filter(([, count]) => count > 0);
  const differences = news.map(([name, count]) => `${grouped(count)} ${name}`).join(", ") || "nothing has changed";
  const time = seconds === null ? "so far" : `in ${duration(seconds * 1_000)}`;
  const read = `${counted(report.sims, "SIM")} on ${counted(report.pages, "page")} ${time}: ${differences}`;
  return reason === undefined ? read : `${read}. ${reason}.`;
}

// Shows a sync until it ends: in this process while no worker does it, or in a remote worker.

/** @returns the last report of the sync, and the exit code */
export function followSync(profile: string, caller: Caller) {
  const { client, app, output } = caller;
  const work = localWork(app, inventory, profile);
  return followWork<SyncReport>({
    ...caller,
    what: "sync",
    resumeCommand: "simfleet sims sync",
    endOf: ({ state }) => (state === "finished" ? { exitCode: 0 } : state === "failed" ? { exitCode: 4 } : undefined),
    leaving: ({ pages }, { wasLocal }) => {
      const stopped = `Nothing is lost: stopped after page ${grouped(pages)}. Resume with: simfleet sims sync`;
      return { exitCode: 1, lines: [wasLocal ? stopped : "The sync continues in its worker."] };
    },
    localWork: work && {
      ...work,
      work: async (onIncident) => {
        await app?.kernel.assertAddress(profile);
        return work.work(onIncident);
      },
    },
    report: () => client.call(routes.showSync, { params: { profile } }),
    show: showStatus(output, (shown) => describeSync(shown, app, profile)),
  });
}

async function describeSync({ sims, pages, state, problem }: SyncReport, app: App | undefined, profile: string) {
  if (state === "sweeping") return { text: "marking SIMs that are gone", topic: state };
  const progress = `${counted(sims, "SIM")}, ${counted(pages, "page")}`;
  if (problem === undefined) {
    return { text: `${progress}${app === undefined ? "" : await quotaText(app, profile)}`, topic: state };
  }
  return {
    text: `page ${grouped(pages + 1)} could not be read: ${problemText(problem)}`,
    live: `${progress} · ${nextAttemptText(problem)} · ${problem.message}`,
    topic: `${problem.attempts} ${problem.message}`,
  };
}

async function quotaText(app: App, profile: string): Promise<string> {
  const bucket = await app.kernel.limiter.state(bucketOf(listSims, profile));
  const toRefreshMs = (bucket.refreshLatestMs ?? bucket.nowMs) - bucket.nowMs;
  const isWaiting = bucket.left === 0 && toRefreshMs > 0;
  return isWaiting ? `, the quota resets in ${Math.ceil(toRefreshMs / 1_000)} s` : "";
}
