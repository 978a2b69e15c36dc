/** One SIM: its fields, in the inventory and on the platform, its changes, the runs that touched it, its statuses. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { addressOf, ask } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { useAction } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/form/button.tsx";
import { BeforeAfter, RowChanges } from "../../parts/changes.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Empty, Loaded, Notice, Panel, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { More, usePages } from "../../parts/pages.tsx";
import { Copy, Ref, RunLink, Said } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { replacePlace } from "../../place.ts";
import { changeWords } from "../../pure/events/event-texts.ts";
import { problemFrom } from "../../pure/problem.ts";
import { hrefOf } from "../../pure/route.ts";
import type { Change, SimDocument, SimRun } from "../../pure/shapes.ts";
import { equals } from "../../pure/sims/filter.ts";
import { type Happening, type Leaves, leavesOf, timelineOf } from "../../pure/sims/sim.ts";
import { chooseProfile, keyColumn, profile, refusal, session } from "../../session.ts";
import { SimFields, Value } from "./sim-fields.tsx";

/** @param of its profile, from a link to a SIM of another profile than the selected one */
export function SimView({ sim, of }: { sim: string; of: string | undefined }): JSX.Element {
  useEffect(() => {
    if (of === undefined) return;
    if (session.value?.profiles.some(({ name }) => name === of) === true) chooseProfile(of);
    replacePlace(hrefOf("sims", sim));
  }, [of, sim]);
  const route = `/v1/sims/${encodeURIComponent(sim)}`;
  const query = { profile: profile.value };
  const stored = useLive<SimDocument>(addressOf(route, query), { ms: 15_000, andOn: ["sync.completed", "run."] });
  const fresh = useReading<SimDocument>(addressOf(`${route}/fresh`, query));
  const isUnknown = stored.value === undefined && stored.problem?.status === 404;
  return (
    <View
      title={
        <>
          {`SIM ${sim}`} <Copy id={sim} />
        </>
      }
      says={stored.value === undefined ? `Profile ${profile.value}` : <Facts record={stored.value} />}
      actions={
        <>
          {fresh.refused === undefined && (
            <Button isBusy={fresh.isBusy} refusal={refusal("operator")} onPress={fresh.read}>
              <Icon name="sync" size={16} />
              {fresh.isBusy ? "Reading …" : "Read from the platform now"}
            </Button>
          )}
          <a class="button is-main" href={hrefOf("new", undefined, { where: equals(keyColumn.value, sim) })}>
            New run for this SIM
          </a>
        </>
      }
    >
      {stored.value === undefined && stored.problem === undefined && <Waiting what="SIM" />}
      {isUnknown ? (
        <Notice kind="warn">
          <b>{`This SIM is not in the inventory of the profile ${profile.value}`}</b>
          <span>Check the ID, or sync the fleet. If the platform has the SIM, you can read it from there.</span>
        </Notice>
      ) : (
        <ProblemNotice problem={stored.problem} what="The SIM could not be loaded" />
      )}
      {typeof stored.value?.goneAt === "string" && (
        <Notice kind="warn">
          <span>
            The platform has not listed this SIM since <Ago at={stored.value.goneAt} />.
          </span>
        </Notice>
      )}
      {fresh.refused !== undefined && <Notice kind="plain">{fresh.refused}</Notice>}
      {(stored.value !== undefined || fresh.value !== undefined) && (
        <SimFields stored={leavesOf(stored.value ?? {})} fresh={fresh.value} />
      )}
      <SimTimeline route={route} sim={sim} />
      <SimStatuses address={addressOf(`${route}/statuses`, query)} />
    </View>
  );
}

function Facts({ record: { addedAt, updatedAt, updatedBy, seenAt } }: { record: SimDocument }): JSX.Element {
  return (
    <>
      {`Profile ${profile.value}`}
      {" · added "}
      <Ago at={textOf(addedAt)} />
      {" · changed "}
      <Ago at={textOf(updatedAt)} />
      {typeof updatedBy === "string" && ` by a ${updatedBy}`}
      {" · seen "}
      <Ago at={textOf(seenAt)} />
    </>
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A read of the platform that a user asks for: it spends a call, so that it is never made on its own. */
interface Reading<T> {
  readonly value: T | undefined;
  /** Why it cannot be read with this configuration. */
  readonly refused: string | undefined;
  readonly isBusy: boolean;
  readonly read: () => void;
}

function useReading<T>(address: string): Reading<T> {
  const [value, setValue] = useState<T | undefined>();
  const [refused, setRefused] = useState<string | undefined>();
  const { isBusy, act } = useAction();
  const read = async (): Promise<undefined> => {
    try {
      setValue(await ask<T>(address));
    } catch (thrown) {
      const problem = problemFrom(thrown);
      if (problem.code !== "CONFIG_INVALID") throw problem;
      const undescribed = problem.faults.find(({ where }) => where.startsWith("operations."));
      setRefused(
        undescribed === undefined
          ? problem.message
          : `Not available: the platform definition does not describe ${undescribed.where}.`,
      );
    }
  };
  return { value, refused, isBusy, read: () => act(read) };
}

/** @param route of the SIM */
function SimTimeline({ route, sim }: { route: string; sim: string }): JSX.Element {
  // The worker scans the rows of all runs for this, so that it is not asked often.
  const runs = usePages<SimRun>(`${route}/runs`, "runs", {
    query: { profile: profile.value, limit: 20 },
    every: { ms: 60_000 },
  });
  const changes = usePages<Change>("/v1/changes", "changes", {
    query: { profile: profile.value, limit: 50, sim },
    every: { ms: 60_000, andOn: ["sync.completed", "sim."] },
  });
  const problem = runs.first.problem ?? changes.first.problem;
  return (
    <Panel title="Timeline" hint="Runs with a row for this SIM, and its changes, newest first">
      <Loaded live={{ value: runs.first.value, problem }} what="timeline">
        {() => (
          <Table<Happening>
            isDense
            label="Timeline"
            rows={timelineOf(runs.rows, changes.rows)}
            keyOf={(row) => ("run" in row ? `${row.run.runId} ${row.run.line}` : row.change.id)}
            empty={
              <Empty>
                {runs.hasMore
                  ? "The newest runs have no row for this SIM, and no change is recorded."
                  : "No run has a row for this SIM, and no change is recorded."}
              </Empty>
            }
            columns={[
              { label: "Time", kind: "tight", cell: ({ at }) => <Ago at={at} /> },
              { label: "What", cell: (row) => <What row={row} /> },
              { label: "Change", cell: (row) => <Difference row={row} /> },
              { label: "Outcome", kind: "tight", cell: (row) => "run" in row && <Badge state={row.run.outcome} /> },
              { label: "Reason", cell: (row) => "run" in row && <Said text={row.run.reason} /> },
            ]}
          />
        )}
      </Loaded>
      <More pages={runs} what="Search older runs" />
      <More pages={changes} what="Older changes" />
    </Panel>
  );
}

function What({ row }: { row: Happening }): JSX.Element {
  if ("run" in row) {
    return (
      <>
        <RunLink {...row.run} /> <span class="quiet">{row.run.operation}</span>
      </>
    );
  }
  const { type, field, by, cause } = row.change;
  return (
    <>
      {field === undefined ? (changeWords[type] ?? type) : `${field} changed`}{" "}
      <span class="quiet">{by === "run" ? <Ref id={cause} /> : "external"}</span>
    </>
  );
}

function Difference({ row }: { row: Happening }): JSX.Element | null {
  if (!("run" in row)) return row.change.field === undefined ? null : <BeforeAfter {...row.change} />;
  return <RowChanges {...row.run} />;
}

interface Row {
  readonly place: number;
  readonly leaves: Leaves;
}

interface Statuses {
  readonly statuses: readonly Readonly<Record<string, unknown>>[];
}

/** The statuses that the SIM had, as the platform returns them on request. */
function SimStatuses({ address }: { address: string }): JSX.Element {
  const { value, refused, isBusy, read } = useReading<Statuses>(address);
  const rows: readonly Row[] = value?.statuses.map((entry, place) => ({ place, leaves: leavesOf(entry) })) ?? [];
  const names = [...new Set(rows.flatMap(({ leaves }) => [...leaves.keys()]))];
  return (
    <Panel title="Status history" hint="From the platform; reading it uses one call">
      {refused !== undefined && <p class="quiet">{refused}</p>}
      {refused === undefined && value === undefined && (
        <Button isBusy={isBusy} refusal={refusal("operator")} onPress={read}>
          {isBusy ? "Reading …" : "Read the status history"}
        </Button>
      )}
      {value !== undefined && (
        <Table
          label="Status history"
          rows={rows}
          keyOf={(row) => row.place}
          empty={<Empty>The platform has no entries.</Empty>}
          columns={names.map((label) => ({ label, cell: (row: Row) => <Value field="" of={row.leaves.get(label)} /> }))}
        />
      )}
    </Panel>
  );
}
