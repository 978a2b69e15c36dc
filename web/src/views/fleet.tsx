/** The fleet as of the last sync: numbers of SIMs by field, how they changed, and external changes. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { addressOf } from "../ask.ts";
import { useLive } from "../live.ts";
import { Figure, Shares } from "../parts/bars.tsx";
import { PostButton } from "../parts/action.tsx";
import { Button } from "../parts/button.tsx";
import { BeforeAfter } from "../parts/changes.tsx";
import { SearchForm, Select } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { CurrentProblemNotice, Empty, Loaded, Notice, Panel, ProblemNotice } from "../parts/notice.tsx";
import { PageTable, usePages } from "../parts/pages.tsx";
import { Plot, type Series } from "../parts/plot.tsx";
import { SimLink } from "../parts/ref.tsx";
import { Ago } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import { goTo } from "../place.ts";
import { duration, grouped, counted } from "../pure/format.ts";
import { changeWords } from "../pure/events/event-texts.ts";
import { equals } from "../pure/sims/filter.ts";
import { hrefOf, viewTitles } from "../pure/route.ts";
import type { Change, FleetPoint, FleetReport, SyncReport } from "../pure/shapes.ts";
import { hasProfiles, keyColumn, profile } from "../session.ts";

const historyRanges = [
  { value: "1", text: "Last hour" },
  { value: "24", text: "Last 24 hours" },
  { value: "168", text: "Last 7 days" },
] as const;

export function Fleet(): JSX.Element {
  const fleet = useLive<FleetReport>(addressOf("/v1/fleet", { profile: profile.value }), {
    ms: 5_000,
    andOn: ["sync.", "run."],
  });
  return (
    <View
      title={viewTitles.fleet}
      says={hasProfiles.value ? `Profile: ${profile.value}` : undefined}
      actions={
        <>
          <FindSim />
          <SyncButton isRunning={isInProgress(fleet.value?.lastSync)} onDone={fleet.refresh} />
        </>
      }
    >
      <Loaded live={fleet} what="fleet" loading="inventory">
        {(value) => <Status fleet={value} />}
      </Loaded>
    </View>
  );
}

function FindSim(): JSX.Element {
  const [sim, setSim] = useState("");
  return (
    <SearchForm
      class="find"
      label={keyColumn.value === "imsi" ? "IMSI" : "SIM ID"}
      value={sim}
      onValue={setSim}
      onSubmit={() => {
        if (sim.trim() !== "") goTo(hrefOf("sims", sim.trim()));
      }}
    >
      <Button type="submit">Open</Button>
    </SearchForm>
  );
}

function Status({ fleet }: { fleet: FleetReport }): JSX.Element {
  const { total, gone, lastSync, bySpeedClass, byStatus, byGroup } = fleet;
  if (total + gone === 0 && !isInProgress(lastSync)) {
    return (
      <>
        <SyncProblem sync={lastSync} />
        <Panel title="The inventory is empty">
          <Empty command="simfleet sims sync">
            Sync the fleet with the button above or with this command. A sync fills this page, makes plans exact, and
            shows external changes.
          </Empty>
        </Panel>
      </>
    );
  }
  return (
    <>
      <SyncProblem sync={lastSync} />
      <section class="panel" aria-label="Summary">
        <dl class="figures">
          <Figure label="SIMs" note={fleet.isComplete ? undefined : "first sync not finished"}>
            {grouped(total)}
          </Figure>
          <Figure label="No longer listed">{grouped(gone)}</Figure>
          <Figure label="Last sync" note={<SyncNote sync={lastSync} />}>
            {isInProgress(lastSync) ? "in progress" : <Ago at={lastSync?.finishedAt} none="never" />}
          </Figure>
        </dl>
      </section>
      <div class="columns">
        <Panel title="By speed class">
          <Shares label="SIMs by speed class" counts={bySpeedClass} whole={total} hrefOf={simsWith("speedClass")} />
        </Panel>
        <Panel title="By status">
          <Shares label="SIMs by status" counts={byStatus} whole={total} hrefOf={simsWith("status")} />
        </Panel>
        <Panel title="By group">
          <Shares label="SIMs by group" counts={byGroup} whole={total} hrefOf={simsWith("groupId")} hasIds />
        </Panel>
      </div>
      <History />
      <OutsideChanges />
    </>
  );
}

function isInProgress(sync: SyncReport | null | undefined): boolean {
  return sync?.state === "listing" || sync?.state === "sweeping";
}

/** A link to the SIMs that have this value. */
function simsWith(field: string): (name: string) => string | undefined {
  return (name) =>
    name === "other"
      ? undefined
      : hrefOf("sims", undefined, { where: name === "none" ? `${field} not exists` : equals(field, name) });
}

function SyncProblem({ sync }: { sync: SyncReport | null }): JSX.Element | null {
  if (sync?.problem !== undefined) return <CurrentProblemNotice problem={sync.problem} />;
  if (sync?.state !== "failed") return null;
  return (
    <Notice kind="bad">
      <b>The last sync failed</b>
      <span>
        {sync.reason ?? "The list was not read to the end."} The numbers are older than this sync. The next sync starts
        over.
      </span>
    </Notice>
  );
}

function SyncNote({ sync }: { sync: SyncReport | null }): JSX.Element | null {
  if (sync === null) return null;
  if (isInProgress(sync)) return <>{`${counted(sync.sims, "SIM")} on ${counted(sync.pages, "page")} so far`}</>;
  const { added, changed, gone, seconds } = sync;
  return (
    <>
      {`${grouped(added)} new, ${grouped(changed)} changed, ${grouped(gone)} gone`}
      {seconds !== null && `, in ${duration(seconds)}`}
    </>
  );
}

function SyncButton({ isRunning, onDone }: { isRunning: boolean; onDone: () => void }): JSX.Element {
  return (
    <PostButton
      needs="operator"
      isBusy={isRunning}
      path="/v1/syncs"
      query={{ profile: profile.value }}
      done="Sync started."
      onDone={onDone}
    >
      <Icon name="sync" size={16} />
      {isRunning ? "Syncing …" : "Sync now"}
    </PostButton>
  );
}

const maxSeries = 5;
const dashes = [undefined, [7, 4], [2, 3], [10, 3, 2, 3], [5, 2]] as const;

function History(): JSX.Element {
  const [hours, setHours] = useState<(typeof historyRanges)[number]["value"]>("24");
  const address = addressOf("/v1/fleet/history", { profile: profile.value, hours });
  const { value, problem } = useLive<{ points: FleetPoint[] }>(address, { ms: 60_000, andOn: ["sync.completed"] });
  const points = value?.points ?? [];
  const range = historyRanges.find((one) => one.value === hours);
  return (
    <Panel
      title="Speed classes over time"
      actions={<Select isCompact label="Time range" value={hours} options={historyRanges} onValue={setHours} />}
    >
      <ProblemNotice problem={problem} />
      {points.length < 2 ? (
        <Empty>Collecting data: the chart appears after about 10 minutes.</Empty>
      ) : (
        <Plot
          says={`SIMs by speed class over the ${range?.text.toLowerCase() ?? ""}`}
          times={points.map(({ at }) => Date.parse(at) / 1_000)}
          series={seriesOf(points)}
        />
      )}
    </Panel>
  );
}

/** The classes with the most SIMs now, each as a line. */
function seriesOf(points: readonly FleetPoint[]): Series[] {
  const now = points.at(-1)?.bySpeedClass ?? {};
  const names = [...new Set(points.flatMap(({ bySpeedClass }) => Object.keys(bySpeedClass)))]
    .toSorted((a, b) => (now[b] ?? 0) - (now[a] ?? 0))
    .slice(0, maxSeries);
  return names.map((name, i) => ({
    name,
    values: points.map(({ bySpeedClass }) => bySpeedClass[name] ?? 0),
    color: `--series-${i + 1}`,
    dash: dashes[i],
  }));
}

function OutsideChanges(): JSX.Element {
  const pages = usePages<Change>("/v1/changes", "changes", {
    query: { profile: profile.value, limit: 20, by: "external" },
    every: { ms: 60_000, andOn: ["sync.completed", "sim."] },
  });
  return (
    <Panel title="External changes" hint="Changes that syncs found, newest first">
      <PageTable
        pages={pages}
        more="Older changes"
        label="External changes"
        keyOf={({ id }) => id}
        empty={<Empty command="simfleet sims changes --by external">No external changes.</Empty>}
        columns={[
          { label: "Seen", kind: "tight", cell: ({ at }) => <Ago at={at} /> },
          { label: "SIM", cell: ({ sim }) => <SimLink sim={sim} /> },
          { label: "What", cell: ({ field, type }) => field ?? changeWords[type] ?? type },
          { label: "Before and after", cell: (change) => change.field !== undefined && <BeforeAfter {...change} /> },
        ]}
      />
    </Panel>
  );
}
