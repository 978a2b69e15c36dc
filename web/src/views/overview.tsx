/** The start page: what runs, what waits for a person, what failed since yesterday, and what comes next. */
import type { JSX } from "preact";
import { addressOf } from "../ask.ts";
import { nowMs } from "../clock.ts";
import { type Live, useLive } from "../live.ts";
import { Badge } from "../parts/badge.tsx";
import { OutcomeBar } from "../parts/bars.tsx";
import { Empty, Notice, Panel, ProblemNotice, untilText } from "../parts/notice.tsx";
import { CredentialLink, IdLink, RunLink, Said } from "../parts/ref.tsx";
import { Sentence } from "../parts/sentence.tsx";
import { Ago } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import { bucketTitle } from "../pure/bucket.ts";
import { counted, duration, grouped } from "../pure/format.ts";
import { dueSecrets, failuresOf, nextTimes, waitingThings } from "../pure/overview.ts";
import { hrefOf, viewTitles } from "../pure/route.ts";
import type {
  AutomationReport,
  BucketReport,
  FleetEvent,
  RotationReport,
  RunReport,
  ScheduleReport,
  WebhookReport,
} from "../pure/shapes.ts";
import { settledRows } from "../pure/runs/tally.ts";
import { profile } from "../session.ts";
import { failureTypes } from "../pure/events/event-texts.ts";

interface Rotations {
  readonly rotations: readonly RotationReport[];
}

const ofRuns = { ms: 5_000, andOn: ["run."] };
const minute = { ms: 60_000, andOn: ["credential.", "schedule.", "automation.", "webhook."] };

export function Overview(): JSX.Element {
  const running = useLive<{ runs: RunReport[] }>(addressOf("/v1/runs", { state: "running", limit: 50 }), ofRuns);
  const schedules = useLive<{ schedules: ScheduleReport[] }>("/v1/schedules", minute);
  const rotations = useLive<Rotations>(addressOf("/v1/rotations", { profile: profile.value }), minute);
  return (
    <View title={viewTitles.overview}>
      <ProblemNotice problem={running.problem} what="The runs could not be loaded" />
      <Panel title="Running now" actions={<a href={hrefOf("runs")}>All runs</a>}>
        {running.value === undefined && <NotRead of={[running]} />}
        {running.value?.runs.length === 0 && <Empty>No run is in progress.</Empty>}
        <ul class="stack">
          {running.value?.runs.map((run) => (
            <Running key={run.runId} run={run} />
          ))}
        </ul>
      </Panel>
      <div class="columns">
        <WaitingPanel rotations={rotations} />
        <Secrets rotations={rotations} />
      </div>
      <Failures />
      <div class="columns">
        <QuotaToday />
        <Panel title="Next schedules" actions={<a href={hrefOf("schedules")}>All schedules</a>}>
          <Lines of={[schedules]} none="No schedule is configured.">
            {nextTimes(schedules.value?.schedules ?? []).map(({ name, job, at }) => (
              <li key={`${name} ${at}`}>
                <Ago at={at} />
                <span>
                  <b>{name}</b> <span class="quiet">{job}</span>
                </span>
              </li>
            ))}
          </Lines>
        </Panel>
      </div>
    </View>
  );
}

function WaitingPanel({ rotations }: { rotations: Live<Rotations> }): JSX.Element {
  const paused = useLive<{ runs: RunReport[] }>(addressOf("/v1/runs", { state: "paused", limit: 50 }), ofRuns);
  const unapproved = useLive<{ runs: RunReport[] }>(
    addressOf("/v1/runs", { state: "awaiting-approval", limit: 50 }),
    ofRuns,
  );
  const automations = useLive<{ automations: AutomationReport[] }>("/v1/automations", minute);
  const webhooks = useLive<{ webhooks: WebhookReport[] }>("/v1/webhooks", minute);
  const waiting = waitingThings({
    runs: [...(unapproved.value?.runs ?? []), ...(paused.value?.runs ?? [])],
    rotations: rotations.value?.rotations ?? [],
    automations: automations.value?.automations ?? [],
    webhooks: webhooks.value?.webhooks ?? [],
  });
  return (
    <Panel title="Needs action">
      <Lines of={[rotations, paused, unapproved, automations, webhooks]} none="Nothing needs action.">
        {waiting.map(({ href, name, what, state }) => (
          <li key={`${href} ${name}`}>
            <Badge state={state} word={what} />
            <IdLink id={name} href={href} />
          </li>
        ))}
      </Lines>
    </Panel>
  );
}

/** In place of what was not loaded; an error is shown elsewhere on the page. */
function NotRead({ of }: { of: readonly Pick<Live<unknown>, "problem">[] }): JSX.Element {
  return <p class="quiet">{of.some(({ problem }) => problem !== undefined) ? "Not known yet." : "Loading …"}</p>;
}

interface LinesProps {
  readonly of: readonly Pick<Live<unknown>, "value" | "problem">[];
  /** What is said if everything was read, and there is no line. */
  readonly none: string;
  readonly children: readonly JSX.Element[];
}

function Lines({ of, none, children }: LinesProps): JSX.Element {
  if (children.length > 0) return <ul class="lines">{children}</ul>;
  return of.every(({ value }) => value !== undefined) ? <p class="quiet">{none}</p> : <NotRead of={of} />;
}

function Running({ run }: { run: RunReport }): JSX.Element {
  const { runId, name, counts, etaSeconds, problem } = run;
  return (
    <li>
      <div class="line-head">
        <RunLink runId={runId} name={name} />
        <span class="quiet">
          {`${grouped(settledRows(counts))} of ${counted(counts.total, "row")}`}
          {etaSeconds !== null && ` · ${duration(etaSeconds)} left`}
        </span>
      </div>
      <OutcomeBar counts={counts} isSlim />
      {problem !== undefined && (
        <Notice kind="warn">
          <span>
            <Said text={problem.message} />{" "}
            {problem.nextAttemptAt !== null && `Next attempt ${untilText(problem.nextAttemptAt)}.`}
          </span>
        </Notice>
      )}
    </li>
  );
}

/** Events of the last day that need attention. */
function Failures(): JSX.Element {
  const sinceMs = Math.floor(nowMs.value / 600_000) * 600_000 - 86_400_000;
  const types = [...failureTypes, "run.completed"].map((type) => ["type", type] as const);
  const query = new URLSearchParams([
    ["since", new Date(sinceMs).toISOString()],
    ["limit", "200"],
    ...types.map((one) => [...one]),
  ]);
  const live = useLive<{ events: FleetEvent[] }>(`/v1/events?${query.toString()}`, {
    ms: 60_000,
    andOn: failureTypes,
  });
  const failures = failuresOf(live.value?.events ?? []);
  return (
    <Panel title="Failed in the last 24 hours" actions={<a href={hrefOf("events")}>All events</a>}>
      <ProblemNotice problem={live.problem} />
      {(live.value !== undefined || live.problem === undefined) && (
        <Lines of={[live]} none="Nothing failed.">
          {failures.slice(0, 12).map((event) => (
            <li key={event.id}>
              <Ago at={event.at} />
              <Sentence event={event} />
            </li>
          ))}
        </Lines>
      )}
      {failures.length > 12 && <p class="quiet">{`and ${failures.length - 12} more`}</p>}
    </Panel>
  );
}

function QuotaToday(): JSX.Element {
  const live = useLive<{ buckets: BucketReport[] }>("/v1/buckets", { ms: 10_000 });
  const buckets = (live.value?.buckets ?? []).filter(({ limit }) => limit !== null);
  return (
    <Panel title="Quota use today" actions={<a href={hrefOf("quota")}>{viewTitles.quota}</a>}>
      <Lines of={[live]} none="No quota is known yet. The first response of the platform reports it.">
        {buckets.map((bucket) => {
          const { limit, left, today } = bucket;
          return (
            <li key={bucket.bucket}>
              <b>{bucketTitle(bucket)}</b>
              <span>
                {`${counted(today.calls, "call")} since 00:00 UTC`}
                {today.throttled > 0 && `, ${grouped(today.throttled)} rate-limited`}
                <span class="quiet">
                  {` · ${left === null ? grouped(limit ?? 0) : grouped(left)} of ${grouped(limit ?? 0)} left`}
                </span>
              </span>
            </li>
          );
        })}
      </Lines>
    </Panel>
  );
}

function Secrets({ rotations }: { rotations: Live<Rotations> }): JSX.Element {
  const due = dueSecrets(rotations.value?.rotations ?? [], nowMs.value);
  return (
    <Panel title="Secrets due for rotation" actions={<a href={hrefOf("credentials")}>{viewTitles.credentials}</a>}>
      <Lines of={[rotations]} none="None in the next 30 days.">
        {due.map(({ name, dueAt, isOverdue }) => (
          <li key={name}>
            <Badge state={isOverdue ? "failed" : "pending"} word={isOverdue ? "overdue" : "due"} />
            <span>
              <CredentialLink kind="rotation" id={name} /> <Ago at={dueAt} />
            </span>
          </li>
        ))}
      </Lines>
    </Panel>
  );
}
