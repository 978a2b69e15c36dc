/** Scheduled tasks, and automations: events that start a task. */
import type { JSX } from "preact";
import { useLive } from "../../live.ts";
import { PostButton } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Empty, Loaded, Panel } from "../../parts/notice.tsx";
import { Ref, Said } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { duration, grouped, utcTime } from "../../pure/format.ts";
import { viewTitles } from "../../pure/route.ts";
import type { AutomationReport, ExecutionReport, ScheduleReport, UnderWay } from "../../pure/shapes.ts";

export function Schedules(): JSX.Element {
  const schedules = useLive<{ schedules: ScheduleReport[] }>("/v1/schedules", { ms: 15_000, andOn: ["schedule."] });
  return (
    <View title={viewTitles.schedules} says="Scheduled tasks and automations.">
      <Loaded live={schedules} what="schedules">
        {(value) => (
          <>
            {value.schedules.length === 0 && (
              <Panel title="No schedules">
                <Empty command={'schedules: { nightly-sync: { cron: "0 3 * * *", timezone: Asia/Tokyo, job: sync } }'}>
                  Add a line such as this one to the configuration to sync the inventory every night:
                </Empty>
              </Panel>
            )}
            {value.schedules.map((schedule) => (
              <Schedule key={schedule.name} schedule={schedule} onChanged={schedules.refresh} />
            ))}
          </>
        )}
      </Loaded>
      <Automations />
    </View>
  );
}

function Schedule({ schedule, onChanged }: { schedule: ScheduleReport; onChanged: () => void }): JSX.Element {
  const { name, job, operation, set, cron, timezone, profile, state, next, running, last } = schedule;
  const what = operation === null ? job : [operation, ...Object.values(set)].join(" ");
  const path = `/v1/schedules/${encodeURIComponent(name)}`;
  return (
    <Panel
      title={name}
      hint={[`${what} of the profile ${profile}`, cron, timezone].join(" · ")}
      actions={
        <>
          <Badge state={running === null ? state : "running"} />
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
            onDone={onChanged}
          >
            Trigger
          </PostButton>
          <Toggle {...{ path, name, state }} onDone={onChanged} />
        </>
      }
    >
      <div class="columns is-uneven">
        <div>
          <h3>Next</h3>
          {next.length === 0 && <p class="quiet">{state === "paused" ? "Paused." : "No upcoming times."}</p>}
          <ul class="times">
            {next.map(({ at, local }) => (
              <li key={at}>
                <Ago at={at} /> <span>{local}</span> <span class="quiet">{utcTime(at)}</span>
              </li>
            ))}
          </ul>
        </div>
        <div>
          {running !== null && <Running inProgress={running} />}
          <h3>Last</h3>
          {last === null ? <p class="quiet">Not run yet.</p> : <Execution execution={last} />}
        </div>
      </div>
    </Panel>
  );
}

function Running({ inProgress: { startedAt, ref, fault } }: { inProgress: UnderWay }): JSX.Element {
  return (
    <p class="under-way">
      Running since <Ago at={startedAt} /> {ref !== null && <Ref id={ref} />}
      {fault !== null && <span class="fault"> {fault}</span>}
    </p>
  );
}

function Execution({ execution }: { execution: ExecutionReport }): JSX.Element {
  const { dueAt, seconds, result, reason, ref } = execution;
  return (
    <dl class="facts">
      <dt>Result</dt>
      <dd>
        <Badge state={result} />{" "}
        {reason !== null && (
          <span class="quiet">
            <Said text={reason} />
          </span>
        )}
      </dd>
      <dt>Due</dt>
      <dd>
        <Ago at={dueAt} />
        <span class="quiet">{` took ${duration(seconds)}`}</span>
      </dd>
      {ref !== null && (
        <>
          <dt>Started</dt>
          <dd>
            <Ref id={ref} />
          </dd>
        </>
      )}
    </dl>
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
                No automations. Add a line such as this one to the configuration to give every new SIM the slowest
                class:
              </Empty>
            }
            columns={[
              { label: "Name", cell: ({ name }) => <b class="nowrap">{name}</b> },
              { label: "When", cell: whenText },
              { label: "Task", cell: (one) => <Does {...one} /> },
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

function Does({ job, operation, set }: AutomationReport): JSX.Element {
  return (
    <>
      {operation ?? job}
      {Object.entries(set).map(([name, value]) => (
        <span key={name} class="quiet">
          {name}=<wbr />
          {value}
        </span>
      ))}
    </>
  );
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
  /** Of the schedule or the automation. */
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
