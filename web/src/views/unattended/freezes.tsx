/** Active freezes with their reasons, upcoming ones, and the switch that freezes everything. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ask } from "../../ask.ts";
import { nowMs } from "../../clock.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button, useAction } from "../../parts/button.tsx";
import { TextField } from "../../parts/field.tsx";
import { Empty, Notice, Panel, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { confirmed } from "../../parts/question.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago, At } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { untilOf } from "../../pure/freeze.ts";
import { localTime } from "../../pure/format.ts";
import type { FreezeReport, FreezeTimeReport } from "../../pure/shapes.ts";
import { refusal } from "../../session.ts";
import { viewTitles } from "../../pure/views.ts";
import { HeldText, useFreezes } from "./frozen.tsx";

export function Freezes(): JSX.Element {
  const { value, problem, put } = useFreezes();
  return (
    <View
      title={viewTitles.freezes}
      says="Periods without changes. Runs and rotations wait and then resume automatically; syncs continue."
    >
      <ProblemNotice problem={problem} what="The freezes could not be loaded" />
      {value === undefined && problem === undefined && <Waiting what="the freezes" />}
      {value !== undefined && (
        <>
          <Now report={value} />
          {value.ordered === null ? <Order onChanged={put} /> : <Ordered report={value} onChanged={put} />}
          <Windows windows={value.windows} />
        </>
      )}
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
  const order = async (): Promise<string | undefined> => {
    const isMeant = await confirmed({
      title: "Freeze all changes?",
      text: `Runs and rotations of every profile stop sending calls within two seconds, until ${(until === undefined ? undefined : localTime(until)) ?? "someone unfreezes"}. Calls in flight are completed.`,
      yes: "Freeze all changes",
      isDangerous: true,
    });
    if (!isMeant) return undefined;
    const body = { reason: reason.trim(), ...(until === undefined ? {} : { until }) };
    onChanged(await ask<FreezeReport>("/v1/freeze", { method: "POST", body }));
    return "All changes are frozen.";
  };
  return (
    <Panel
      title="Freeze all changes"
      hint="Immediately and for every profile, until a time that you set or until someone unfreezes"
    >
      <form
        class="form"
        aria-label="Freeze all changes"
        onSubmit={(event) => {
          event.preventDefault();
          act(order);
        }}
      >
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
      </form>
    </Panel>
  );
}

function Ordered({ report: { ordered }, onChanged }: Changing & { report: FreezeReport }): JSX.Element | null {
  const { isBusy, act } = useAction();
  if (ordered === null) return null;
  const { by, reason, since, until } = ordered;
  const lift = async (): Promise<string | undefined> => {
    const isMeant = await confirmed({
      title: "Unfreeze?",
      text: `Runs and rotations of every profile, frozen by ${by}, resume within ten seconds. Freezes in the configuration still apply.`,
      yes: "Unfreeze",
    });
    if (!isMeant) return undefined;
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
        <Button kind="main" isBusy={isBusy} refusal={refusal("admin")} onPress={() => act(lift)}>
          Unfreeze
        </Button>
        <RoleHint />
      </div>
    </Panel>
  );
}

function RoleHint(): JSX.Element | null {
  const off = refusal("admin");
  return off === undefined ? null : <span class="hint">{off}</span>;
}

function Windows({ windows }: { windows: readonly FreezeTimeReport[] }): JSX.Element {
  return (
    <Panel title="From the configuration" hint="Active now, and the next three of each">
      {windows.length === 0 ? (
        <Empty
          command={'freezes: { year-end: { from: "2026-12-24T00:00:00+09:00", to: "2027-01-04T09:00:00+09:00" } }'}
        >
          No current or future freezes. Add a line such as this one to the configuration to freeze all changes over the
          holidays:
        </Empty>
      ) : (
        <Table
          label="Freezes of the configuration"
          rows={windows}
          keyOf={({ name, from }) => `${name} ${from}`}
          columns={[
            { label: "Name", cell: ({ name }) => <b class="nowrap">{name}</b> },
            { label: "Profile", cell: ({ profile }) => profile ?? "all" },
            { label: "State", kind: "tight", cell: ({ from }) => <WindowState from={from} /> },
            { label: "From", kind: "tight", cell: ({ from }) => <At at={from} /> },
            { label: "To", kind: "tight", cell: ({ to }) => <At at={to} /> },
          ]}
        />
      )}
    </Panel>
  );
}

function WindowState({ from }: { from: string }): JSX.Element {
  return Date.parse(from) <= nowMs.value ? <Badge state="frozen" /> : <Ago at={from} />;
}
