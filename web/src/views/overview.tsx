/** The start page: what runs, what waits for a user, what comes next, and what failed since yesterday. */
import type { JSX } from "preact";
import { addressOf } from "../ask.ts";
import { nowMs } from "../clock.ts";
import { type Live, useLive } from "../live.ts";
import { Badge, RunBadge } from "../parts/badge.tsx";
import { OutcomeBar } from "../parts/charts/bars.tsx";
import { Empty, Loaded, Notice, Panel, untilText } from "../parts/notice.tsx";
import { CredentialLink, IdLink, RunLink, Said } from "../parts/ref.tsx";
import { Ago } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import { duration, grouped } from "../pure/format.ts";
import { dueSecrets, nextTimes, waitingThings } from "../pure/overview.ts";
import { hrefOf, viewTitles } from "../pure/route.ts";
import type { AutomationReport, RotationReport, RunReport, ScheduleReport, WebhookReport } from "../pure/shapes.ts";
import { profile } from "../session.ts";
import { EventLines, eventsOf, useSummary } from "./activity/since.tsx";

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
      <Panel title="Running now" actions={<a href={hrefOf("runs")}>All runs</a>}>
        <Loaded live={running} what="runs">
          {({ runs }) =>
            runs.length === 0 ? (
              <Empty>No run is in progress.</Empty>
            ) : (
              <ul class="stack">
                {runs.map((run) => (
                  <Running key={run.runId} run={run} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </Panel>
      <div class="columns">
        <WaitingPanel rotations={rotations} />
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
      <Failures />
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
        {waiting.map(({ href, kind, name, what, state, reason }) => (
          <li key={`${href} ${name}`}>
            <Badge state={state} word={what} />
            <span>
              {kind} <IdLink id={name} href={href} />
              {typeof reason === "string" && <Said text={`: ${reason}`} />}
            </span>
          </li>
        ))}
        {dueSecrets(rotations.value?.rotations ?? [], nowMs.value).map(({ name, dueAt, isOverdue }) => (
          <li key={`due ${name}`}>
            <Badge state={isOverdue ? "failed" : "pending"} word={isOverdue ? "overdue" : "due"} />
            <span>
              Rotate <CredentialLink kind="rotation" id={name} /> <Ago at={dueAt} />
            </span>
          </li>
        ))}
      </Lines>
    </Panel>
  );
}

interface LinesProps {
  readonly of: readonly Pick<Live<unknown>, "value" | "problem">[];
  /** Text if everything was loaded and there is no line. */
  readonly none: string;
  readonly children: readonly (JSX.Element | readonly JSX.Element[])[];
}

function Lines({ of, none, children }: LinesProps): JSX.Element {
  if (children.flat().length > 0) return <ul class="lines">{children}</ul>;
  // An error is shown elsewhere on the page.
  const unread = of.some(({ problem }) => problem !== undefined) ? "Not known yet." : "Loading …";
  return <p class="quiet">{of.every(({ value }) => value !== undefined) ? none : unread}</p>;
}

function Running({ run }: { run: RunReport }): JSX.Element {
  const { runId, name, counts, etaSeconds, problem } = run;
  return (
    <li>
      <div class="line-head">
        <span>
          <RunLink runId={runId} name={name} /> <RunBadge run={run} />
        </span>
        <span class="quiet">
          {`${grouped(counts.done)} of ${grouped(counts.total)} done`}
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
  const live = useSummary("24h");
  const more = <a href={hrefOf("activity", "since", { since: "24h" })}>What happened</a>;
  return (
    <Panel title="Failed in the last 24 hours" actions={more}>
      <Loaded live={live} what="events">
        {(summary) => <EventLines events={eventsOf(summary).failures} none="Nothing failed." />}
      </Loaded>
    </Panel>
  );
}
