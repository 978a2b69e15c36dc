/** The event feed as sentences, filtered by kind, person and day; new events come in live. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../../ask.ts";
import { Button } from "../../parts/form/button.tsx";
import { Select } from "../../parts/form/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Empty, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { Ref } from "../../parts/ref.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { place, replacePlace } from "../../place.ts";
import { emptyWindow, paused, resumed, runOf, withEvents } from "../../pure/events/event-window.ts";
import { type EventChoice, choiceOf, eventQuery, hasPlaceIn, queryOfChoice } from "../../pure/events/event-choice.ts";
import { type Problem, problemFrom } from "../../pure/problem.ts";
import { hrefOf } from "../../pure/route.ts";
import { type Entry, groupedEvents } from "../../pure/events/sentences.ts";
import type { FleetEvent } from "../../pure/shapes.ts";
import { hasProfiles, session } from "../../session.ts";
import { connection, onEvents } from "../../stream.ts";
import { eventKinds } from "../../pure/events/event-texts.ts";
import { Filters } from "./filters.tsx";
import { counted, grouped } from "../../pure/format.ts";

const pageSize = 200;

export function Events(): JSX.Element {
  const choice = choiceOf(place.value.query);
  const [isPaused, setPaused] = useState(false);
  const feed = useFeed({ choice, isPaused });
  const entries = groupedEvents(feed.events);
  const isKnown = feed.isRead && feed.problem === undefined;
  return (
    <>
      <EventFilters choice={choice} people={feed.people}>
        <Button onPress={() => setPaused(!isPaused)} isPressed={isPaused}>
          <Icon name={isPaused ? "runs" : "paused"} size={16} />
          {isPaused ? `Resume (${counted(feed.waiting, "new event")})` : "Pause"}
        </Button>
      </EventFilters>
      <ProblemNotice problem={feed.problem} what="The events could not be loaded" />
      <section class="panel" aria-label="Event feed" hidden={feed.problem !== undefined && entries.length === 0}>
        {!feed.isRead && <Waiting what="events" />}
        {isKnown && entries.length === 0 && (
          <Empty command="simfleet events">
            {choice.kinds.length === 0 ? "No events yet. New events appear here automatically." : "No event matches."}
          </Empty>
        )}
        {entries.length > 0 && <EventTable entries={entries} />}
        {choice.kinds.length === 0 && choice.cause === "" && isKnown && (
          <p class="quiet more">Changes of single SIMs are hidden. Select SIM changes to see them.</p>
        )}
        {feed.older !== undefined && (
          <div class="more">
            <Button isSmall onPress={feed.older}>
              Older events
            </Button>
          </div>
        )}
      </section>
    </>
  );
}

interface EventFeed {
  readonly events: readonly FleetEvent[];
  /** How many new ones arrived while the list is paused. */
  readonly waiting: number;
  /** Who did something in the events that were read. */
  readonly people: readonly string[];
  readonly isRead: boolean;
  readonly problem: Problem | undefined;
  /** Undefined if there are no older ones. */
  readonly older: (() => void) | undefined;
}

function useFeed({ choice, isPaused }: { choice: EventChoice; isPaused: boolean }): EventFeed {
  const [events, setEvents] = useState(emptyWindow);
  const [cursor, setCursor] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | undefined>();
  const [isRead, setRead] = useState(false);
  const query = eventQuery(choice);
  const address = query.toString();
  const shown = useRef(address);
  shown.current = address;
  const read = async (before?: string): Promise<void> => {
    try {
      const page = new URLSearchParams(query);
      page.set("limit", String(pageSize));
      if (before !== undefined) page.set("cursor", before);
      const answer = await ask<{ events: FleetEvent[]; nextCursor: string | null }>(`/v1/events?${page.toString()}`);
      // Other events are shown meanwhile.
      if (shown.current !== address) return;
      setEvents((known) => withEvents(known, answer.events));
      setCursor(answer.nextCursor);
      setProblem(undefined);
    } catch (thrown) {
      if (shown.current === address) setProblem(problemFrom(thrown));
    } finally {
      setRead(true);
    }
  };
  useEffect(() => setEvents((known) => (isPaused ? paused(known) : resumed(known))), [isPaused]);
  useEffect(() => setEvents({ ...emptyWindow, isPaused }), [address]);
  useEffect(
    () =>
      onEvents((more) =>
        setEvents((known) =>
          withEvents(
            known,
            more.filter((event) => hasPlaceIn(choice, event)),
          ),
        ),
      ),
    [address],
  );
  const isLive = connection.value.state === "live";
  // Loaded again when the stream starts, so that no event is lost between the list and the stream.
  useEffect(() => void read(), [isLive, address]);
  const people = [...new Set(events.shown.flatMap(({ fields: { by } }) => by ?? []))].filter((by) => by.includes(":"));
  return {
    events: events.shown,
    waiting: events.aside.length,
    people,
    isRead,
    problem,
    older: cursor === null ? undefined : () => void read(cursor),
  };
}

interface FilterProps {
  readonly choice: EventChoice;
  readonly people: readonly string[];
  readonly children: JSX.Element;
}

function EventFilters({ choice, people, children }: FilterProps): JSX.Element {
  const profiles = session.value?.profiles ?? [];
  const choose = (change: Partial<EventChoice>): void =>
    replacePlace(hrefOf("activity", "events", queryOfChoice({ ...choice, ...change })));
  return (
    <Filters {...choice} known={eventKinds} people={people} onChange={choose}>
      {choice.cause !== "" && (
        <span class="chip">
          <span>
            Caused by <Ref id={choice.cause} />
          </span>
          <Button isSmall kind="plain" onPress={() => choose({ cause: "" })}>
            All causes
          </Button>
        </span>
      )}
      {hasProfiles.value && (
        <Select
          isCompact
          label="Filter events by profile"
          value={choice.profile}
          options={[{ value: "", text: "All profiles" }, ...profiles.map(({ name }) => ({ value: name, text: name }))]}
          onValue={(profile) => choose({ profile })}
        />
      )}
      {children}
    </Filters>
  );
}

function newestOf(entry: Entry): FleetEvent {
  return "event" in entry ? entry.event : entry.newest;
}

function EventTable({ entries }: { entries: readonly Entry[] }): JSX.Element {
  return (
    <Table
      isDense
      label="Events"
      rows={entries}
      keyOf={(entry) => newestOf(entry).id}
      columns={[
        { label: "Time", kind: "tight", cell: (entry) => <Ago at={newestOf(entry).at} /> },
        { label: "What", cell: (entry) => <What entry={entry} /> },
        ...(hasProfiles.value ? [{ label: "Profile", cell: (entry: Entry) => newestOf(entry).profile }] : []),
        {
          label: "Type",
          kind: "tight",
          cell: (entry) => <span class="mono quiet">{newestOf(entry).type}</span>,
        },
      ]}
    />
  );
}

function What({ entry }: { entry: Entry }): JSX.Element {
  if ("event" in entry) {
    const { event } = entry;
    const run = runOf(event);
    const hasChanges = run !== undefined && ["run.completed", "run.aborted", "run.cancelled"].includes(event.type);
    return (
      <>
        <Sentence event={event} />
        {hasChanges && (
          <a class="quiet" href={hrefOf("activity", "events", { cause: run, type: "sim" })}>
            Show the SIM changes
          </a>
        )}
      </>
    );
  }
  const { cause, changes } = entry;
  if (changes.length === 1) return <Sentence event={entry.newest} />;
  return (
    <details>
      <summary>{`${grouped(changes.length)} SIM changes of ${cause.startsWith("r-") ? "a run" : "a sync"}`}</summary>
      <p>
        <Ref id={cause} />
      </p>
      <ul>
        {changes.map((event) => (
          <li key={event.id}>
            <Sentence event={event} />
          </li>
        ))}
      </ul>
    </details>
  );
}
