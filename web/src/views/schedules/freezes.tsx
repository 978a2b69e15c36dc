/**
 * Freezes: what is frozen now and why, the switch that freezes everything, and the periods of the configuration. Every
 * view says at its top that changes are frozen, which is why runs and rotations wait.
 */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ask } from "../../ask.ts";
import { nowMs } from "../../clock.ts";
import { useLive } from "../../live.ts";
import { ActionButton, useAction } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/form/button.tsx";
import { Form, TextField } from "../../parts/form/field.tsx";
import { Empty, Loaded, Notice, Panel } from "../../parts/notice.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago, At } from "../../parts/time.tsx";
import { untilOf } from "../../pure/freeze.ts";
import { counted, listed, localTime } from "../../pure/format.ts";
import { hrefOf } from "../../pure/route.ts";
import type { FreezeReport, FreezeTimeReport, Held } from "../../pure/shapes.ts";
import { profile, refusal } from "../../session.ts";

/** Configured periods start and end without an event. */
const often = { ms: 15_000, andOn: ["freeze."] };

export function FrozenNotice(): JSX.Element {
  const { value } = useLive<FreezeReport>("/v1/freeze", often);
  const held = value?.profiles[profile.value] ?? undefined;
  return (
    <div class="above" role="status">
      {held !== undefined && (
        <Notice kind="warn" icon="freezes">
          <b>Changes are frozen</b>
          <span>
            <HeldText held={held} /> <a href={hrefOf("schedules", "freezes")}>Freezes</a>
          </span>
        </Notice>
      )}
    </div>
  );
}

/** The reason and the end. */
function HeldText({ held: { reason, until } }: { held: Held }): JSX.Element {
  return (
    <>
      {reason.replace(/^t(?=he )/, "T")},{" "}
      {until === null ? (
        "until someone ends it."
      ) : (
        <>
          {"until "} <At at={until} />.
        </>
      )}
    </>
  );
}

export function Freezes(): JSX.Element {
  const live = useLive<FreezeReport>("/v1/freeze", often);
  const ordered = live.value?.ordered ?? undefined;
  return (
    <Panel
      at="freezes"
      title="Freezes"
      hint="Runs and rotations wait and then resume; syncs continue. Without a time, a freeze lasts until someone ends it"
      actions={ordered && <EndFreeze by={ordered.by} onChanged={live.put} />}
    >
      <Loaded live={live} what="freezes">
        {({ runs, profiles, periods }) => (
          <div class="form">
            {Object.keys(profiles).length > 1 && <p>{frozenText(profiles)}</p>}
            {ordered === undefined ? (
              <Order runs={runs} onChanged={live.put} />
            ) : (
              <p>
                {`Frozen by ${ordered.by} `}
                <Ago at={ordered.since} />
              </p>
            )}
            <Periods periods={periods} />
          </div>
        )}
      </Loaded>
    </Panel>
  );
}

function frozenText(profiles: FreezeReport["profiles"]): string {
  const frozen = Object.keys(profiles).filter((name) => profiles[name] !== null);
  return frozen.length === 0 ? "No profile is frozen." : `Frozen now: ${listed(frozen)}`;
}

interface Changing {
  readonly onChanged: (report: FreezeReport) => void;
}

/** @param runs in progress, which a freeze holds */
function Order({ runs, onChanged }: Changing & { runs: number }): JSX.Element {
  const [reason, setReason] = useState("");
  const [written, setWritten] = useState("");
  const { isBusy, act } = useAction();
  const { until, fault } = untilOf(written, nowMs.value);
  const off = refusal("admin") ?? (fault === undefined ? undefined : "Fix the highlighted field.");
  const question = {
    title: "Freeze all changes?",
    text: `This pauses ${counted(runs, "run")} in progress. Runs and rotations of every profile stop sending calls within two seconds, until ${until === undefined ? "someone ends the freeze" : localTime(until)}. Calls in flight are completed.`,
    yes: "Freeze all changes",
    isDangerous: true,
  };
  const order = async (): Promise<string> => {
    const body = { reason: reason.trim(), ...(until === undefined ? {} : { until }) };
    onChanged(await ask<FreezeReport>("/v1/freeze", { method: "POST", body }));
    return "All changes are frozen.";
  };
  return (
    <Form class="with-button" label="Freeze all changes" onSubmit={() => off === undefined && act(order, question)}>
      <TextField label="Reason" value={reason} onValue={setReason} placeholder="Shown with the freeze" />
      <TextField label="Until" type="datetime-local" value={written} onValue={setWritten} fault={fault} />
      <Button kind="danger" type="submit" isBusy={isBusy} refusal={off}>
        Freeze all changes
      </Button>
    </Form>
  );
}

function EndFreeze({ by, onChanged }: Changing & { by: string }): JSX.Element {
  const lift = async (): Promise<string> => {
    onChanged(await ask<FreezeReport>("/v1/freeze", { method: "DELETE" }));
    return "Changes are no longer frozen.";
  };
  return (
    <ActionButton
      kind="main"
      needs="admin"
      question={{
        title: "End the freeze?",
        text: `Runs and rotations of every profile, frozen by ${by}, resume within ten seconds. Freezes in the configuration still apply.`,
        yes: "End freeze",
      }}
      work={lift}
    >
      End freeze
    </ActionButton>
  );
}

function Periods({ periods }: { periods: readonly FreezeTimeReport[] }): JSX.Element {
  return (
    <Table
      label="Freezes of the configuration"
      rows={periods}
      keyOf={({ name, from }) => `${name} ${from}`}
      empty={
        <Empty
          command={'freezes: { year-end: { from: "2026-12-24T00:00:00+09:00", to: "2027-01-04T09:00:00+09:00" } }'}
        >
          None is configured. To freeze all changes over the holidays, add a line such as this one to the configuration:
        </Empty>
      }
      columns={[
        { label: "Name", cell: ({ name }) => <b class="nowrap">{name}</b> },
        { label: "Profile", cell: ({ profile: of }) => of ?? "all" },
        { label: "State", kind: "tight", cell: ({ from }) => <PeriodState from={from} /> },
        { label: "From", kind: "tight", cell: ({ from }) => <At at={from} /> },
        { label: "To", kind: "tight", cell: ({ to }) => <At at={to} /> },
      ]}
    />
  );
}

function PeriodState({ from }: { from: string }): JSX.Element {
  return Date.parse(from) <= nowMs.value ? <Badge state="frozen" /> : <Ago at={from} />;
}
