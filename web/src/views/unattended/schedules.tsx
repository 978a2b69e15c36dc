/** Scheduled tasks and automations. */
import type { JSX } from "preact";
import { ask } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button, useAction } from "../../parts/button.tsx";
import { Empty, Panel, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { confirmed } from "../../parts/question.tsx";
import { Ref } from "../../parts/ref.tsx";
import { Ago } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { duration, utcTime } from "../../pure/format.ts";
import type { ExecutionReport, ScheduleReport, UnderWay } from "../../pure/shapes.ts";
import { refusal } from "../../session.ts";
import { toggleText } from "./toggle-text.ts";
import { viewTitles } from "../../pure/views.ts";
import { Automations } from "./automations.tsx";
import { Said } from "../../parts/said.tsx";

export function Schedules(): JSX.Element {
  const { value, problem, refresh } = useLive<{ schedules: ScheduleReport[] }>("/v1/schedules", {
    ms: 15_000,
    andOn: ["schedule."],
  });
  return (
    <View title={viewTitles.schedules} says="Scheduled tasks and automations.">
      <ProblemNotice problem={problem} what="The schedules could not be loaded" />
      {value === undefined && problem === undefined && <Waiting what="the schedules" />}
      {value?.schedules.length === 0 && (
        <Panel title="No schedules">
          <Empty command={'schedules: { nightly-sync: { cron: "0 3 * * *", timezone: Asia/Tokyo, job: sync } }'}>
            Add a line such as this one to the configuration to sync the inventory every night:
          </Empty>
        </Panel>
      )}
      {value?.schedules.map((schedule) => (
        <Schedule key={schedule.name} schedule={schedule} onChanged={refresh} />
      ))}
      <Automations />
    </View>
  );
}

function Schedule({ schedule, onChanged }: { schedule: ScheduleReport; onChanged: () => void }): JSX.Element {
  const { name, job, operation, set, cron, timezone, profile, state, next, running, last } = schedule;
  const what = operation === null ? job : [operation, ...Object.values(set)].join(" ");
  return (
    <Panel
      title={name}
      hint={[`${what} of the profile ${profile}`, cron, timezone].join(" · ")}
      actions={
        <>
          <Badge state={running === null ? state : "running"} />
          <ScheduleButtons schedule={schedule} onChanged={onChanged} />
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

function ScheduleButtons({ schedule, onChanged }: { schedule: ScheduleReport; onChanged: () => void }): JSX.Element {
  const { isBusy, act } = useAction();
  const { name, job, profile, state } = schedule;
  const post = async (action: "trigger" | "pause" | "resume", said: string): Promise<string> => {
    await ask(`/v1/schedules/${encodeURIComponent(name)}/${action}`, { method: "POST" });
    onChanged();
    return said;
  };
  const trigger = async (): Promise<string | undefined> => {
    const isMeant = await confirmed({
      title: `Trigger ${name} now?`,
      text: `The task ${job} starts immediately for the profile ${profile}. Its next scheduled time does not change.`,
      yes: "Trigger now",
    });
    return isMeant ? post("trigger", `${name} was triggered.`) : undefined;
  };
  const toggle = state === "active" ? "pause" : "resume";
  return (
    <>
      <Button
        isSmall
        {...{ isBusy }}
        refusal={refusal("operator")}
        label={`Trigger ${name}`}
        onPress={() => act(trigger)}
      >
        Trigger
      </Button>
      <Button
        isSmall
        {...{ isBusy }}
        refusal={refusal("operator")}
        label={toggleText[toggle].named(name)}
        onPress={() => act(() => post(toggle, toggleText[toggle].done(name)))}
      >
        {toggleText[toggle].verb}
      </Button>
    </>
  );
}
