/**
 * Active freezes with their reasons, upcoming ones, and the switch that freezes everything. All other views say that
 * changes are frozen, which is why runs and rotations are paused.
 */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ask } from "../../ask.ts";
import { nowMs } from "../../clock.ts";
import { type Live, useLive } from "../../live.ts";
import { ActionButton, useAction } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Form, TextField } from "../../parts/field.tsx";
import { Empty, Loaded, Notice, Panel } from "../../parts/notice.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago, At } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { untilOf } from "../../pure/freeze.ts";
import { localTime } from "../../pure/format.ts";
import { hrefOf, viewTitles } from "../../pure/route.ts";
import type { FreezeReport, FreezeTimeReport, Held } from "../../pure/shapes.ts";
import { profile, refusal } from "../../session.ts";

/** Configured periods open and close without an event. */
function useFreezes(): Live<FreezeReport> {
  return useLive<FreezeReport>("/v1/freeze", { ms: 15_000, andOn: ["changes."] });
}

export function FrozenNotice(): JSX.Element {
  const { value } = useFreezes();
  const held = value?.profiles[profile.value] ?? undefined;
  return (
    <div class="above" role="status">
      {held !== undefined && <Frozen held={held} />}
    </div>
  );
}

function Frozen({ held }: { held: Held }): JSX.Element {
  return (
    <Notice kind="warn" icon="freezes">
      <b>Changes are frozen</b>
      <span>
        <HeldText held={held} /> <a href={hrefOf("freezes")}>{viewTitles.freezes}</a>
      </span>
    </Notice>
  );
}

/** The reason and the end. */
function HeldText({ held: { reason, until } }: { held: Held }): JSX.Element {
  return (
    <>
      {reason.replace(/^t(?=he )/, "T")},{" "}
      {until === null ? (
        "until someone unfreezes."
      ) : (
        <>
          {"until "} <At at={until} />.
        </>
      )}
    </>
  );
}

export function Freezes(): JSX.Element {
  const freezes = useFreezes();
  return (
    <View
      title={viewTitles.freezes}
      says="Periods without changes. Runs and rotations wait and then resume automatically; syncs continue."
    >
      <Loaded live={freezes} what="freezes">
        {(report) => (
          <>
            <Now report={report} />
            {report.ordered === null ? (
              <Order onChanged={freezes.put} />
            ) : (
              <Ordered ordered={report.ordered} onChanged={freezes.put} />
            )}
            <Periods periods={report.periods} />
          </>
        )}
      </Loaded>
    </View>
  );
}

function Now({ report: { profiles } }: { report: FreezeReport }): JSX.Element {
  return (
    <Panel title="Now">
      <Table
        label="Profiles now"
        rows={Object.entries(profiles)}
        keyOf={([name]) => name}
        columns={[
          { label: "Profile", cell: ([name]) => <b>{name}</b> },
          {
            label: "State",
            kind: "tight",
            cell: ([, held]) => (held === null ? <Badge state="active" word="not frozen" /> : <Badge state="frozen" />),
          },
          { label: "Why", cell: ([, held]) => held !== null && <HeldText held={held} /> },
        ]}
      />
    </Panel>
  );
}

interface Changing {
  readonly onChanged: (report: FreezeReport) => void;
}

function Order({ onChanged }: Changing): JSX.Element {
  const [reason, setReason] = useState("");
  const [written, setWritten] = useState("");
  const { isBusy, act } = useAction();
  const { until, fault } = untilOf(written, nowMs.value);
  const end = (until === undefined ? undefined : localTime(until)) ?? "someone unfreezes";
  const question = {
    title: "Freeze all changes?",
    text: `Runs and rotations of every profile stop sending calls within two seconds, until ${end}. Calls in flight are completed.`,
    yes: "Freeze all changes",
    isDangerous: true,
  };
  const order = async (): Promise<string> => {
    const body = { reason: reason.trim(), ...(until === undefined ? {} : { until }) };
    onChanged(await ask<FreezeReport>("/v1/freeze", { method: "POST", body }));
    return "All changes are frozen.";
  };
  return (
    <Panel
      title="Freeze all changes"
      hint="Immediately and for every profile, until a time that you set or until someone unfreezes"
    >
      <Form class="form" label="Freeze all changes" onSubmit={() => act(order, question)}>
        <div class="form-row">
          <TextField label="Reason" value={reason} onValue={setReason} hint="Shown with the freeze" />
          <TextField
            label="Until"
            type="datetime-local"
            value={written}
            onValue={setWritten}
            fault={fault}
            hint="Local time; leave empty to freeze until someone unfreezes"
          />
        </div>
        <div class="actions">
          <Button
            kind="danger"
            type="submit"
            isBusy={isBusy}
            refusal={refusal("admin") ?? (fault === undefined ? undefined : "Fix the highlighted field.")}
          >
            Freeze all changes
          </Button>
          <RoleHint />
        </div>
      </Form>
    </Panel>
  );
}

interface OrderedProps extends Changing {
  readonly ordered: NonNullable<FreezeReport["ordered"]>;
}

function Ordered({ ordered: { by, reason, since, until }, onChanged }: OrderedProps): JSX.Element {
  const lift = async (): Promise<string> => {
    onChanged(await ask<FreezeReport>("/v1/freeze", { method: "DELETE" }));
    return "Changes are no longer frozen.";
  };
  return (
    <Panel title="All changes are frozen">
      <Notice kind="warn" icon="freezes">
        <b>{reason === "" ? "No reason was given" : reason}</b>
        <span>
          {`Frozen by ${by}`} <Ago at={since} />
          {until === null ? ", until someone unfreezes." : ", until "}
          {until !== null && <At at={until} />}
        </span>
      </Notice>
      <div class="actions more">
        <ActionButton
          kind="main"
          needs="admin"
          question={{
            title: "Unfreeze?",
            text: `Runs and rotations of every profile, frozen by ${by}, resume within ten seconds. Freezes in the configuration still apply.`,
            yes: "Unfreeze",
          }}
          work={lift}
        >
          Unfreeze
        </ActionButton>
        <RoleHint />
      </div>
    </Panel>
  );
}

function RoleHint(): JSX.Element | null {
  const off = refusal("admin");
  return off === undefined ? null : <span class="hint">{off}</span>;
}

function Periods({ periods }: { periods: readonly FreezeTimeReport[] }): JSX.Element {
  return (
    <Panel title="From the configuration" hint="Active now, and the next three of each">
      <Table
        label="Freezes of the configuration"
        rows={periods}
        keyOf={({ name, from }) => `${name} ${from}`}
        empty={
          <Empty
            command={'freezes: { year-end: { from: "2026-12-24T00:00:00+09:00", to: "2027-01-04T09:00:00+09:00" } }'}
          >
            No current or future freezes. Add a line such as this one to the configuration to freeze all changes over
            the holidays:
          </Empty>
        }
        columns={[
          { label: "Name", cell: ({ name }) => <b class="nowrap">{name}</b> },
          { label: "Profile", cell: ({ profile: of }) => of ?? "all" },
          { label: "State", kind: "tight", cell: ({ from }) => <WindowState from={from} /> },
          { label: "From", kind: "tight", cell: ({ from }) => <At at={from} /> },
          { label: "To", kind: "tight", cell: ({ to }) => <At at={to} /> },
        ]}
      />
    </Panel>
  );
}

function WindowState({ from }: { from: string }): JSX.Element {
  return Date.parse(from) <= nowMs.value ? <Badge state="frozen" /> : <Ago at={from} />;
}
