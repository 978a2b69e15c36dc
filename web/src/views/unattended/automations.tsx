/** Automations: events that start a job. */
import type { JSX } from "preact";
import { ask } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button, useAction } from "../../parts/button.tsx";
import { Empty, Panel, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { Ref } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { grouped } from "../../pure/format.ts";
import type { AutomationReport } from "../../pure/shapes.ts";
import { refusal } from "../../session.ts";
import { columnsText } from "../../strings/parts.ts";
import { automationsText as text, toggleText } from "../../strings/schedules.ts";
import { Said } from "../../parts/said.tsx";

export function Automations(): JSX.Element {
  const { value, problem, refresh } = useLive<{ automations: AutomationReport[] }>("/v1/automations", {
    ms: 15_000,
    andOn: ["automation."],
  });
  return (
    <Panel title={text.title} hint={text.hint}>
      <ProblemNotice problem={problem} what={text.failed} />
      {value === undefined && problem === undefined && <Waiting what={text.reading} />}
      {value?.automations.length === 0 && <Empty command={text.example}>{text.none}</Empty>}
      {value !== undefined && value.automations.length > 0 && (
        <Table
          label={text.title}
          rows={value.automations}
          keyOf={({ name }) => name}
          columns={[
            { label: columnsText.name, cell: ({ name }) => <b class="nowrap">{name}</b> },
            { label: text.when, cell: whenText },
            { label: text.does, cell: (one) => <Does {...one} /> },
            { label: columnsText.state, cell: (one) => <State {...one} /> },
            { label: text.lastEvent, cell: (one) => <Last {...one} /> },
            { label: text.done, kind: "number", cell: ({ done }) => grouped(done) },
            { label: text.unchanged, kind: "number", cell: ({ unchanged }) => grouped(unchanged) },
            { label: text.failures, kind: "number", cell: ({ failed }) => grouped(failed) },
            { label: columnsText.act, kind: "act", cell: (one) => <Toggle automation={one} onChanged={refresh} /> },
          ]}
        />
      )}
    </Panel>
  );
}

function whenText({ on, where }: AutomationReport): string {
  return where === "" ? on.join(", ") : text.whenWhere(on.join(", "), where);
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
      <Ago at={lastEventAt} none={text.noEvent} />
      {lastRef !== null && (
        <span class="quiet">
          <Ref id={lastRef} />
        </span>
      )}
    </>
  );
}

function State({ state, reason }: AutomationReport): JSX.Element {
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

function Toggle({ automation, onChanged }: { automation: AutomationReport; onChanged: () => void }): JSX.Element {
  const { isBusy, act } = useAction();
  const { name, state } = automation;
  const action = state === "active" ? "pause" : "resume";
  const post = async (): Promise<string> => {
    await ask(`/v1/automations/${encodeURIComponent(name)}/${action}`, { method: "POST" });
    onChanged();
    return toggleText[action].done(name);
  };
  return (
    <Button
      isSmall
      isBusy={isBusy}
      refusal={refusal("operator")}
      label={toggleText[action].named(name)}
      onPress={() => act(post)}
    >
      {toggleText[action].verb}
    </Button>
  );
}
