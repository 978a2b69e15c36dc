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
import { toggleText } from "./toggle-text.ts";
import { Said } from "../../parts/said.tsx";

export function Automations(): JSX.Element {
  const { value, problem, refresh } = useLive<{ automations: AutomationReport[] }>("/v1/automations", {
    ms: 15_000,
    andOn: ["automation."],
  });
  return (
    <Panel title="Automations" hint="Event-triggered tasks">
      <ProblemNotice problem={problem} what="The automations could not be loaded" />
      {value === undefined && problem === undefined && <Waiting what="the automations" />}
      {value?.automations.length === 0 && (
        <Empty command="automations: { new-sims-slow: { on: sim.added, job: apply, speedClass: s1.minimum } }">
          No automations. Add a line such as this one to the configuration to give every new SIM the slowest class:
        </Empty>
      )}
      {value !== undefined && value.automations.length > 0 && (
        <Table
          label="Automations"
          rows={value.automations}
          keyOf={({ name }) => name}
          columns={[
            { label: "Name", cell: ({ name }) => <b class="nowrap">{name}</b> },
            { label: "When", cell: whenText },
            { label: "Task", cell: (one) => <Does {...one} /> },
            { label: "State", cell: (one) => <State {...one} /> },
            { label: "Last event", cell: (one) => <Last {...one} /> },
            { label: "Done", kind: "number", cell: ({ done }) => grouped(done) },
            { label: "Unchanged", kind: "number", cell: ({ unchanged }) => grouped(unchanged) },
            { label: "Failed", kind: "number", cell: ({ failed }) => grouped(failed) },
            { label: "Actions", kind: "act", cell: (one) => <Toggle automation={one} onChanged={refresh} /> },
          ]}
        />
      )}
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
