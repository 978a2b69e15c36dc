/** Unattended work: scheduled tasks, automations, freezes and webhooks. */
import type { JSX } from "preact";
import { useLive } from "../../live.ts";
import { PostButton } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Empty, Loaded, Panel } from "../../parts/notice.tsx";
import { Ref, Said } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { duration, grouped } from "../../pure/format.ts";
import { viewTitles } from "../../pure/route.ts";
import type { AutomationReport, ScheduleReport } from "../../pure/shapes.ts";
import { hasProfiles } from "../../session.ts";
import { Freezes } from "./freezes.tsx";
import { Webhooks } from "./webhooks.tsx";

export function Schedules(): JSX.Element {
  return (
    <View title={viewTitles.schedules} says="What runs without you: schedules, automations, freezes and webhooks.">
      <ScheduleTable />
      <Automations />
      <Freezes />
      <Webhooks />
    </View>
  );
}

function ScheduleTable(): JSX.Element {
  const live = useLive<{ schedules: ScheduleReport[] }>("/v1/schedules", { ms: 15_000, andOn: ["schedule."] });
  return (
    <Panel title="Schedules" hint="Tasks at set times">
      <Loaded live={live} what="schedules">
        {({ schedules }) => (
          <Table
            label="Schedules"
            rows={schedules}
            keyOf={({ name }) => name}
            empty={
              <Empty command={'schedules: { nightly-sync: { cron: "0 3 * * *", timezone: Asia/Tokyo, job: sync } }'}>
                No schedules. To sync the inventory every night, add a line such as this one to the configuration:
              </Empty>
            }
            columns={[
              { label: "Name", cell: ({ name }) => <b class="nowrap">{name}</b> },
              { label: "Task", cell: (one) => <Task {...one} /> },
              { label: "Next", cell: (one) => <Next {...one} /> },
              { label: "Last", cell: (one) => <LastTime {...one} /> },
              {
                label: "State",
                kind: "tight",
                cell: ({ running, state, reason }) => (
                  <StateAndReason state={running === null ? state : "running"} reason={reason} />
                ),
              },
              {
                label: "Actions",
                kind: "act",
                cell: (one) => <ScheduleButtons schedule={one} onDone={live.refresh} />,
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

/** Operation and the SIMs it applies to. */
type Doing = Pick<ScheduleReport, "job" | "operation" | "set" | "profile">;

function Task({ job, operation, set, profile }: Doing): JSX.Element {
  return (
    <>
      {[operation ?? job, ...Object.values(set)].join(" ")}
      {hasProfiles.value && <span class="quiet">{profile}</span>}
    </>
  );
}

function Next({ cron, next, state }: ScheduleReport): JSX.Element {
  const [first] = next;
  const none = state === "paused" ? "paused" : "no upcoming time";
  return (
    <>
      {first === undefined ? none : <Ago at={first.at} />}
      {first !== undefined && <span class="nowrap">{`, ${first.local}`}</span>}
      <span class="quiet mono">{cron}</span>
      {next.length > 1 && (
        <details>
          <summary>{`Next ${next.length} times`}</summary>
          {next.map(({ at, local }) => (
            <div key={at} class="nowrap">
              {local}
            </div>
          ))}
        </details>
      )}
    </>
  );
}

/** The time in progress, or the last one with its result. */
function LastTime({ running, last }: ScheduleReport): JSX.Element {
  if (running !== null) {
    const { startedAt, ref, fault } = running;
    return (
      <>
        since <Ago at={startedAt} /> {ref !== null && <Ref id={ref} />}
        {fault !== null && <span class="fault"> {fault}</span>}
      </>
    );
  }
  if (last === null) return <>not run yet</>;
  const { dueAt, seconds, result, reason, ref } = last;
  return (
    <>
      <Badge state={result} /> <Ago at={dueAt} />
      <span class="quiet">
        {`took ${duration(seconds)} `}
        {ref !== null && <Ref id={ref} />} {reason !== null && <Said text={reason} />}
      </span>
    </>
  );
}

function ScheduleButtons({ schedule, onDone }: { schedule: ScheduleReport; onDone: () => void }): JSX.Element {
  const { name, job, profile, state } = schedule;
  const path = `/v1/schedules/${encodeURIComponent(name)}`;
  return (
    <div class="actions">
      <PostButton
        isSmall
        needs="operator"
        label={`Trigger ${name}`}
        question={{
          title: `Trigger ${name} now?`,
          text: `The task ${job} starts immediately for the profile ${profile}. Its next scheduled time does not change.`,
          yes: "Trigger now",
        }}
        path={`${path}/trigger`}
        done={`${name} was triggered.`}
        onDone={onDone}
      >
        Trigger
      </PostButton>
      <Toggle {...{ path, name, state, onDone }} />
    </div>
  );
}

function Automations(): JSX.Element {
  const live = useLive<{ automations: AutomationReport[] }>("/v1/automations", { ms: 15_000, andOn: ["automation."] });
  return (
    <Panel title="Automations" hint="Event-triggered tasks">
      <Loaded live={live} what="automations">
        {({ automations }) => (
          <Table
            label="Automations"
            rows={automations}
            keyOf={({ name }) => name}
            empty={
              <Empty command="automations: { new-sims-slow: { on: sim.added, job: apply, speedClass: s1.minimum } }">
                No automations. To give every new SIM the slowest class, add a line such as this one to the
                configuration:
              </Empty>
            }
            columns={[
              { label: "Name", cell: ({ name }) => <b class="nowrap">{name}</b> },
              { label: "When", cell: whenText },
              { label: "Task", cell: (one) => <Task {...one} /> },
              { label: "State", cell: (one) => <StateAndReason {...one} /> },
              { label: "Last event", cell: (one) => <Last {...one} /> },
              { label: "Done", kind: "number", cell: ({ done }) => grouped(done) },
              { label: "Unchanged", kind: "number", cell: ({ unchanged }) => grouped(unchanged) },
              { label: "Failed", kind: "number", cell: ({ failed }) => grouped(failed) },
              {
                label: "Actions",
                kind: "act",
                cell: ({ name, state }) => (
                  <Toggle
                    path={`/v1/automations/${encodeURIComponent(name)}`}
                    {...{ name, state }}
                    onDone={live.refresh}
                  />
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function whenText({ on, where }: AutomationReport): string {
  return where === "" ? on.join(", ") : `${on.join(", ")} where ${where}`;
}

function Last({ lastEventAt, lastRef }: AutomationReport): JSX.Element {
  return (
    <>
      <Ago at={lastEventAt} none="none yet" />
      {lastRef !== null && (
        <span class="quiet">
          <Ref id={lastRef} />
        </span>
      )}
    </>
  );
}

export function StateAndReason({ state, reason }: { state: string; reason: string | null }): JSX.Element {
  return (
    <>
      <Badge state={state} />
      {reason !== null && (
        <span class="quiet">
          <Said text={reason} />
        </span>
      )}
    </>
  );
}

interface ToggleProps {
  /** Path of the schedule or the automation. */
  readonly path: string;
  readonly name: string;
  readonly state: string;
  readonly onDone: () => void;
}

function Toggle({ path, name, state, onDone }: ToggleProps): JSX.Element {
  const isActive = state === "active";
  const verb = isActive ? "Pause" : "Resume";
  return (
    <PostButton
      isSmall
      needs="operator"
      label={`${verb} ${name}`}
      path={`${path}/${isActive ? "pause" : "resume"}`}
      done={isActive ? `${name} is paused.` : `${name} is active again.`}
      onDone={onDone}
    >
      {verb}
    </PostButton>
  );
}
