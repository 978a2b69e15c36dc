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
import type { FiringReport, ScheduleReport, UnderWay } from "../../pure/shapes.ts";
import { refusal } from "../../session.ts";
import { Automations } from "./automations.tsx";

export function Schedules(): JSX.Element {
  const { value, problem, refresh } = useLive<{ schedules: ScheduleReport[] }>("/v1/schedules", {
    ms: 15_000,
    andOn: ["schedule."],
  });
  return (
    <View title="Schedules" says="Scheduled tasks and automations.">
      <ProblemNotice problem={problem} what="The schedules could not be read" />
      {value === undefined && problem === undefined && <Waiting what="the schedules" />}
      {value?.schedules.length === 0 && (
        <Panel title="No schedule">
          <Empty command='schedules: { nightly-sync: { cron: "0 3 * * *", timezone: Asia/Tokyo, job: sync } }'>
            None is configured. A line such as this one in the configuration reads the fleet every night:
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
      hint={`${what} of the profile ${profile} · ${cron} · ${timezone}`}
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
          {next.length === 0 && <p class="quiet">{state === "paused" ? "Paused." : "No further times."}</p>}
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
          {last === null ? <p class="quiet">Not run yet.</p> : <Firing firing={last} />}
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

function Firing({ firing }: { firing: FiringReport }): JSX.Element {
  const { dueAt, seconds, result, reason, ref } = firing;
  return (
    <dl class="facts">
      <dt>Result</dt>
      <dd>
        <Badge state={result} /> {reason !== null && <span class="quiet">{reason}</span>}
      </dd>
      <dt>Due</dt>
      <dd>
        <Ago at={dueAt} />
        <span class="quiet"> took {duration(seconds)}</span>
      </dd>
      {ref !== null && (
        <>
          <dt>Made</dt>
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
      text: `Its job ${job} starts immediately for the profile ${profile}, in addition to the schedule.`,
      yes: "Trigger now",
    });
    return isMeant ? post("trigger", `${name} was triggered.`) : undefined;
  };
  const [toggle, said] =
    state === "active" ? (["pause", `${name} is paused.`] as const) : (["resume", `${name} is active again.`] as const);
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
        label={`${state === "active" ? "Pause" : "Resume"} ${name}`}
        onPress={() => act(() => post(toggle, said))}
      >
        {state === "active" ? "Pause" : "Resume"}
      </Button>
    </>
  );
}
