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
import { columnsText } from "../../strings/parts.ts";
import { freezesText as text } from "../../strings/schedules.ts";
import { viewTitles } from "../../strings/shell.ts";
import { HeldText, useFreezes } from "./frozen.tsx";

export function Freezes(): JSX.Element {
  const { value, problem, put } = useFreezes();
  return (
    <View title={viewTitles.freezes} says={text.hint}>
      <ProblemNotice problem={problem} what={text.failed} />
      {value === undefined && problem === undefined && <Waiting what={text.reading} />}
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
    <Panel title={text.now}>
      <Table
        label={text.profilesNow}
        rows={Object.entries(profiles)}
        keyOf={([name]) => name}
        columns={[
          { label: columnsText.profile, cell: ([name]) => <b>{name}</b> },
          {
            label: columnsText.state,
            kind: "tight",
            cell: ([, held]) =>
              held === null ? <Badge state="active" word={text.notFrozen} /> : <Badge state="frozen" />,
          },
          { label: text.why, cell: ([, held]) => held !== null && <HeldText held={held} /> },
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
      title: text.freezeTitle,
      text: text.freezeWhat(until === undefined ? undefined : localTime(until)),
      yes: text.freeze,
      isDangerous: true,
    });
    if (!isMeant) return undefined;
    const body = { reason: reason.trim(), ...(until === undefined ? {} : { until }) };
    onChanged(await ask<FreezeReport>("/v1/freeze", { method: "POST", body }));
    return text.frozen;
  };
  return (
    <Panel title={text.everything} hint={text.everythingHint}>
      <form
        class="form"
        aria-label={text.everything}
        onSubmit={(event) => {
          event.preventDefault();
          act(order);
        }}
      >
        <div class="form-row">
          <TextField label={text.reason} value={reason} onValue={setReason} hint={text.reasonHint} />
          <TextField
            label={text.until}
            type="datetime-local"
            value={written}
            onValue={setWritten}
            fault={fault}
            hint={text.untilHint}
          />
        </div>
        <div class="actions">
          <Button
            kind="danger"
            type="submit"
            isBusy={isBusy}
            refusal={refusal("admin") ?? (fault === undefined ? undefined : text.fixField)}
          >
            {text.freeze}
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
      title: text.unfreezeTitle,
      text: text.unfreezeWhat(by),
      yes: text.unfreeze,
    });
    if (!isMeant) return undefined;
    onChanged(await ask<FreezeReport>("/v1/freeze", { method: "DELETE" }));
    return text.unfrozen;
  };
  return (
    <Panel title={text.everythingFrozen}>
      <Notice kind="warn" icon="freezes">
        <b>{reason === "" ? text.noReason : reason}</b>
        <span>
          {text.frozenBy(by)} <Ago at={since} />
          {until === null ? text.endless : text.endsAt}
          {until !== null && <At at={until} />}
        </span>
      </Notice>
      <div class="actions more">
        <Button kind="main" isBusy={isBusy} refusal={refusal("admin")} onPress={() => act(lift)}>
          {text.unfreeze}
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
    <Panel title={text.windows} hint={text.windowsHint}>
      {windows.length === 0 ? (
        <Empty command={text.windowExample}>{text.noWindows}</Empty>
      ) : (
        <Table
          label={text.windowsTable}
          rows={windows}
          keyOf={({ name, from }) => `${name} ${from}`}
          columns={[
            { label: columnsText.name, cell: ({ name }) => <b class="nowrap">{name}</b> },
            { label: columnsText.profile, cell: ({ profile }) => profile ?? text.allProfiles },
            { label: columnsText.state, kind: "tight", cell: ({ from }) => <WindowState from={from} /> },
            { label: text.from, kind: "tight", cell: ({ from }) => <At at={from} /> },
            { label: text.to, kind: "tight", cell: ({ to }) => <At at={to} /> },
          ]}
        />
      )}
    </Panel>
  );
}

function WindowState({ from }: { from: string }): JSX.Element {
  return Date.parse(from) <= nowMs.value ? <Badge state="frozen" /> : <Ago at={from} />;
}
