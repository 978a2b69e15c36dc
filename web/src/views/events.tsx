/** The live event feed. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ask } from "../ask.ts";
import { Button } from "../parts/button.tsx";
import { Choices, Select } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, ProblemNotice, Waiting } from "../parts/notice.tsx";
import { Ref, SimLink } from "../parts/ref.tsx";
import { Table } from "../parts/table.tsx";
import { At } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import { place, replacePlace } from "../place.ts";
import { emptyWindow, fieldsOf, paused, resumed, runOf, withEvents } from "../pure/event-window.ts";
import { counted } from "../pure/format.ts";
import { type Problem, problemFrom } from "../pure/problem.ts";
import { hrefOf } from "../pure/route.ts";
import type { FleetEvent } from "../pure/shapes.ts";
import { session } from "../session.ts";
import { connection, onEvents } from "../stream.ts";
import { Webhooks } from "./webhooks.tsx";

const kinds = [
  "all",
  "run",
  "sim",
  "sync",
  "credential",
  "authkey",
  "secret",
  "schedule",
  "automation",
  "webhook",
  "changes",
] as const;
type Kind = (typeof kinds)[number];

export function Events(): JSX.Element {
  const [events, setEvents] = useState(emptyWindow);
  const [problem, setProblem] = useState<Problem | undefined>();
  const [isRead, setRead] = useState(false);
  const [ofProfile, setOfProfile] = useState("");
  const [most, setMost] = useState(40);
  const kind = kinds.find((one) => one === place.value.query.type) ?? "all";

  useEffect(() => onEvents((more) => setEvents((before) => withEvents(before, more))), []);
  const isLive = connection.value.state === "live";
  useEffect(() => {
    // Loaded when the stream begins, so that no event is lost between the list and the stream.
    const readPast = async (): Promise<void> => {
      try {
        const page = await ask<{ events: FleetEvent[] }>("/v1/events", { query: { limit: 200 } });
        setEvents((before) => withEvents(before, page.events));
        setProblem(undefined);
      } catch (thrown) {
        setProblem(problemFrom(thrown));
      } finally {
        setRead(true);
      }
    };
    void readPast();
  }, [isLive]);

  const shown = events.shown
    .filter(({ type }) => kind === "all" || type.startsWith(`${kind}.`))
    .filter((event) => ofProfile === "" || event.profile === ofProfile);
  const profiles = session.value?.profiles ?? [];
  return (
    <View
      title="Events"
      actions={
        <Button
          onPress={() => setEvents(events.isPaused ? resumed(events) : paused(events))}
          isPressed={events.isPaused}
        >
          <Icon name={events.isPaused ? "runs" : "paused"} size={16} />
          {events.isPaused ? `Resume (${counted(events.aside.length, "new event")})` : "Pause"}
        </Button>
      }
    >
      <div class="actions">
        <Choices<Kind>
          label="Filter events by kind"
          value={kind}
          options={kinds.map((value) => ({ value, text: value }))}
          onValue={(type) => replacePlace(hrefOf("events", undefined, { type: type === "all" ? undefined : type }))}
        />
        {profiles.length > 1 && (
          <Select
            label="Filter events by profile"
            value={ofProfile}
            options={[
              { value: "", text: "All profiles" },
              ...profiles.map(({ name }) => ({ value: name, text: name })),
            ]}
            onValue={setOfProfile}
          />
        )}
      </div>
      <ProblemNotice problem={problem} what="The events could not be read" />
      <section class="panel" aria-label="Event feed">
        {!isRead && <Waiting what="the events" />}
        {isRead && shown.length === 0 && (
          <Empty command="simfleet events tail">No events yet. New events appear here automatically.</Empty>
        )}
        {shown.length > 0 && <EventTable events={shown.slice(0, most)} />}
        {shown.length > most && (
          <div class="more">
            <Button isSmall onPress={() => setMost(most + 100)}>
              Older events
            </Button>
          </div>
        )}
      </section>
      <Webhooks />
    </View>
  );
}

function EventTable({ events }: { events: readonly FleetEvent[] }): JSX.Element {
  const isOneOfSeveral = (session.value?.profiles.length ?? 0) > 1;
  return (
    <Table
      label="Events"
      rows={events}
      keyOf={({ id }) => id}
      columns={[
        { label: "At", kind: "tight", cell: ({ at }) => <At at={at} /> },
        { label: "What", kind: "tight", cell: ({ type }) => <span class="mono">{type}</span> },
        ...(isOneOfSeveral ? [{ label: "Profile", cell: ({ profile }: FleetEvent) => profile }] : []),
        { label: "Details", cell: (event) => <Details event={event} /> },
      ]}
    />
  );
}

function Details({ event }: { event: FleetEvent }): JSX.Element {
  const run = runOf(event);
  return (
    <span class="details">
      {fieldsOf(event).map(([name, value]) => (
        <span key={name}>
          <span class="quiet">{name} </span>
          {value === run ? <Ref id={run} /> : name === "sim" ? <SimLink sim={value} of={event.profile} /> : value}
        </span>
      ))}
    </span>
  );
}
