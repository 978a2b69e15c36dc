/** The fleet at the last sync, at the head of the SIMs: numbers of SIMs by field, the sync, and classes over time. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { addressOf } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { PostButton } from "../../parts/action.tsx";
import { Icon } from "../../parts/icon.tsx";
import { CurrentProblemNotice, Empty, Notice, ProblemNotice } from "../../parts/notice.tsx";
import { Plot, type Series } from "../../parts/charts/plot.tsx";
import { IdLink } from "../../parts/ref.tsx";
import { Ago } from "../../parts/time.tsx";
import { counted, duration, grouped, percent } from "../../pure/format.ts";
import { hrefOf } from "../../pure/route.ts";
import type { FleetPoint, FleetReport, SyncReport } from "../../pure/shapes.ts";
import { fieldTitle } from "../../pure/sims/explorer.ts";
import { equals } from "../../pure/sims/filter.ts";
import { profile } from "../../session.ts";

function isInProgress(sync: SyncReport | null | undefined): boolean {
  return sync?.state === "listing" || sync?.state === "sweeping";
}

export function FleetCounts({ fleet }: { fleet: FleetReport }): JSX.Element {
  const { total, bySpeedClass, byStatus, byGroup, lastSync } = fleet;
  const fields = [
    ["speedClass", bySpeedClass],
    ["status", byStatus],
    ["groupId", byGroup],
  ] as const;
  return (
    <>
      <SyncProblem sync={lastSync} />
      {total > 0 && (
        <dl class="facts fleet">
          {fields.map(([field, counts]) => (
            <>
              <dt>{fieldTitle(field)}</dt>
              <dd>
                <Shares {...{ field, counts, total }} />
              </dd>
            </>
          ))}
        </dl>
      )}
    </>
  );
}

interface SharesProps {
  readonly field: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly total: number;
}

const maxShares = 6;

/** The largest shares first, each as a link to its SIMs; what is beyond them as a sum. */
function Shares({ field, counts, total }: SharesProps): JSX.Element {
  const rows = Object.entries(counts)
    .filter(([name]) => name !== "other")
    .toSorted(([, m], [, n]) => n - m);
  const shown = rows.slice(0, field === "groupId" ? 2 : maxShares);
  const rest = shown.reduce((left, [, count]) => left - count, total);
  return (
    <ul class="shares" aria-label={`SIMs by ${fieldTitle(field).toLowerCase()}`}>
      {shown.map(([name, count]) => {
        const where = name === "none" ? `${field} not exists` : equals(field, name);
        const href = hrefOf("sims", undefined, { where });
        return (
          <li key={name}>
            {field === "groupId" && name !== "none" ? <IdLink id={name} href={href} /> : <a href={href}>{name}</a>}
            <b title={percent(count, total)}>{grouped(count)}</b>
          </li>
        );
      })}
      {rest > 0 && (
        <li>
          others <b>{grouped(rest)}</b>
        </li>
      )}
    </ul>
  );
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

/** `synced 5 min ago: 3 new, 12 changed, 0 gone, in 4 s` */
export function SyncText({ sync }: { sync: SyncReport | null }): JSX.Element {
  if (sync === null) return <>not synced yet</>;
  if (isInProgress(sync))
    return <>{`syncing: ${counted(sync.sims, "SIM")} on ${counted(sync.pages, "page")} so far`}</>;
  const { added, changed, gone, seconds, finishedAt } = sync;
  return (
    <>
      synced <Ago at={finishedAt} />
      {`: ${grouped(added)} new, ${grouped(changed)} changed, ${grouped(gone)} gone`}
      {seconds !== null && `, in ${duration(seconds)}`}
    </>
  );
}

export function SyncButton({ sync, onDone }: { sync: SyncReport | null | undefined; onDone: () => void }): JSX.Element {
  const isRunning = isInProgress(sync);
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

/** Loaded once it is opened. */
export function History(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const address = isOpen ? addressOf("/v1/fleet/history", { profile: profile.value, hours: 168 }) : undefined;
  const { value, problem } = useLive<{ points: FleetPoint[] }>(address, { ms: 60_000, andOn: ["sync.completed"] });
  const points = value?.points ?? [];
  return (
    <details class="panel" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Speed classes in the last 7 days</summary>
      <ProblemNotice problem={problem} />
      {points.length < 2 ? (
        <Empty>Collecting data: the chart appears after about 10 minutes.</Empty>
      ) : (
        <Plot
          says="SIMs by speed class"
          times={points.map(({ at }) => Date.parse(at) / 1_000)}
          series={seriesOf(points)}
        />
      )}
    </details>
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
