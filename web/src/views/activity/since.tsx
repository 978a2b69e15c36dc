/** "What happened last night?": runs, schedules, rotations, problems, external changes and calls since a time. */
import type { JSX } from "preact";
import { addressOf } from "../../ask.ts";
import { type Live, useLive } from "../../live.ts";
import { Figure } from "../../parts/charts/bars.tsx";
import { Choices, TextField } from "../../parts/form/field.tsx";
import { Loaded, Notice, Panel } from "../../parts/notice.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Ago } from "../../parts/time.tsx";
import { place, replacePlace } from "../../place.ts";
import { isFailure } from "../../pure/events/sentences.ts";
import { counted, grouped } from "../../pure/format.ts";
import { hrefOf } from "../../pure/route.ts";
import type { FleetEvent, Summary } from "../../pure/shapes.ts";
import { profile } from "../../session.ts";

const ages = [
  { value: "12h", text: "Last 12 hours" },
  { value: "24h", text: "Last 24 hours" },
  { value: "7d", text: "Last 7 days" },
] as const;

/** @param since an age such as 12h, or an instant */
export function useSummary(since: string): Live<Summary> {
  return useLive<Summary>(addressOf("/v1/summary", { since, profile: profile.value }), {
    ms: 60_000,
    andOn: ["run.", "schedule.", "credential.", "authkey."],
  });
}

/** The events of a summary, newest first: those that need attention, and the others. */
export function eventsOf({
  runs,
  schedules,
  rotations,
  problems,
}: Summary): Record<"failures" | "others", FleetEvent[]> {
  const all = [runs, schedules, rotations, problems]
    .flatMap(({ events }) => events)
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
  return { failures: all.filter(isFailure), others: all.filter((event) => !isFailure(event)) };
}

function choose(since: string): void {
  replacePlace(hrefOf("activity", "since", { since }));
}

export function Since(): JSX.Element {
  const { since = "12h" } = place.value.query;
  const summary = useSummary(since);
  const isAge = ages.some(({ value }) => value === since);
  return (
    <>
      <div class="with-button since">
        <Choices label="Since" value={since} options={ages} onValue={choose} />
        <TextField
          isCompact
          type="datetime-local"
          label="Since a time"
          value={isAge ? "" : localInput(since)}
          onValue={(value) => value !== "" && choose(new Date(value).toISOString())}
        />
      </div>
      <Loaded live={summary} what="summary">
        {(value) => <SummaryView summary={value} />}
      </Loaded>
    </>
  );
}

/** The value of a field for a local time. */
function localInput(iso: string): string {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return "";
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function SummaryView({ summary }: { summary: Summary }): JSX.Element {
  const { runs, schedules, rotations, problems, externalChanges, calls, complete } = summary;
  const { failures, others } = eventsOf(summary);
  const ended = runs.completed + runs.notDone + runs.aborted + runs.cancelled;
  const { added, changed, gone, returned } = externalChanges;
  return (
    <>
      {!complete && <Notice kind="warn">There were too many events to read all: the oldest are not counted.</Notice>}
      <section class="panel" aria-label="Counts">
        <dl class="figures">
          <Figure
            label="Runs ended"
            note={parts([runs.notDone, "with rows not done"], [runs.aborted, "aborted"], [runs.cancelled, "cancelled"])}
          >
            {grouped(ended)}
          </Figure>
          <Figure
            label="SIMs changed"
            note={parts([runs.rows.rejected + runs.rows.failed + runs.rows.unknown, "not done"])}
          >
            {grouped(runs.rows.done)}
          </Figure>
          <Figure
            label="Schedules"
            note={parts(
              [schedules.failed, "failed"],
              [schedules.late, "late"],
              [schedules.skipped, "skipped"],
              [schedules.missed, "missed"],
              [schedules.cancelled, "cancelled"],
            )}
          >
            {`${grouped(schedules.completed)} done`}
          </Figure>
          <Figure label="Secrets" note={parts([rotations.failed, "failed"], [rotations.waiting, "to confirm"])}>
            {`${grouped(rotations.rotated)} rotated`}
          </Figure>
          <Figure label="Other problems">{grouped(problems.count)}</Figure>
          <Figure label="External changes" note={parts([added, "new"], [gone, "gone"], [returned, "back"])}>
            {counted(changed, "field")}
          </Figure>
          <Figure label="Rate-limited (429)" note={`of ${counted(calls.calls, "call")}`}>
            {grouped(calls.throttled)}
          </Figure>
        </dl>
      </section>
      <Panel title="Failed, late or waiting for you">
        <EventLines events={failures} none="Nothing failed, ran late or needs your attention." />
      </Panel>
      <Panel title="Also ended" actions={<a href={hrefOf("activity", "events")}>All events</a>}>
        <EventLines events={others} none="Nothing else ended." />
      </Panel>
    </>
  );
}

/** `2 failed, 1 late`; undefined if all are zero. */
function parts(...counts: readonly (readonly [count: number, what: string])[]): string | undefined {
  const text = counts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${grouped(count)} ${what}`)
    .join(", ");
  return text === "" ? undefined : text;
}

const maxLines = 12;

export function EventLines({ events, none }: { events: readonly FleetEvent[]; none: string }): JSX.Element {
  if (events.length === 0) return <p class="quiet">{none}</p>;
  return (
    <>
      <ul class="lines">
        {events.slice(0, maxLines).map((event) => (
          <li key={event.id}>
            <Ago at={event.at} />
            <Sentence event={event} />
          </li>
        ))}
      </ul>
      {events.length > maxLines && <p class="quiet more">{`and ${grouped(events.length - maxLines)} more`}</p>}
    </>
  );
}
