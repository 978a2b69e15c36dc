/** Who changed what, through the control API or by a command on a worker's machine, and who attempted to. */
import type { JSX } from "preact";
import { addressOf, download, type Query } from "../ask.ts";
import { Badge } from "../parts/badge.tsx";
import { Button, useAction } from "../parts/button.tsx";
import { TextField, Tick } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, Notice, ProblemNotice, Waiting } from "../parts/notice.tsx";
import { More, usePages } from "../parts/pages.tsx";
import { IdLink } from "../parts/ref.tsx";
import { Table } from "../parts/table.tsx";
import { Ago } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import { place, replacePlace } from "../place.ts";
import { spanOf } from "../pure/events/event-choice.ts";
import { hrefOf, hrefOfTarget } from "../pure/route.ts";
import type { AuditEntry } from "../pure/shapes.ts";
import { refusal } from "../session.ts";
import { auditKinds, auditText as text } from "../strings/audit.ts";
import { eventsText } from "../strings/events.ts";
import { columnsText } from "../strings/parts.ts";
import { viewTitles } from "../strings/shell.ts";

const kindNames = Object.keys(auditKinds) as (keyof typeof auditKinds)[];

export function Audit(): JSX.Element {
  const off = refusal("admin");
  const { who = "", day = "", kind = "" } = place.value.query;
  const kinds = kindNames.filter((name) => kind.split(",").includes(name));
  const [since, until] = spanOf(day) ?? [];
  const chosen = { who, since, until, kind: kinds };
  const pages = usePages<AuditEntry>(off === undefined ? "/v1/audit" : undefined, "entries", {
    query: { ...chosen, limit: 50 },
    every: { ms: 15_000 },
  });
  const { value, problem } = pages.first;
  const isFiltered = who !== "" || day !== "" || kinds.length > 0;
  return (
    <View title={viewTitles.audit} says={text.hint} actions={off === undefined && <Export chosen={chosen} />}>
      {off !== undefined && (
        <Notice kind="warn" icon="person">
          <b>{text.notAllowed}</b>
          <span>{off}</span>
        </Notice>
      )}
      {off === undefined && <Filters {...{ who, day, kinds }} known={pages.rows.flatMap((entry) => entry.who ?? [])} />}
      <ProblemNotice problem={problem} what={text.failed} />
      {off === undefined && value === undefined && problem === undefined && <Waiting what={text.reading} />}
      {value !== undefined && (
        <section class="panel" aria-label={text.log}>
          {pages.rows.length === 0 ? (
            <Empty command={text.command}>{isFiltered ? text.noneMatch : text.none}</Empty>
          ) : (
            <Entries entries={pages.rows} />
          )}
          <More pages={pages} what={text.older} />
        </section>
      )}
    </View>
  );
}

function Export({ chosen }: { chosen: Query }): JSX.Element {
  const { isBusy, act } = useAction();
  const save = async (): Promise<undefined> => {
    await download(addressOf("/v1/audit/export"), chosen, "audit.csv");
  };
  return (
    <Button isBusy={isBusy} onPress={() => act(save)}>
      <Icon name="down" size={16} />
      {text.exportCsv}
    </Button>
  );
}

interface FilterProps {
  readonly who: string;
  readonly day: string;
  readonly kinds: readonly string[];
  readonly known: readonly string[];
}

function Filters({ who, day, kinds, known }: FilterProps): JSX.Element {
  const choose = (change: Readonly<Record<string, string>>): void =>
    replacePlace(hrefOf("audit", undefined, { who, day, kind: kinds.join(","), ...change }));
  const chooseKind = (name: string, isOn: boolean): void =>
    choose({ kind: kindNames.filter((one) => (one === name ? isOn : kinds.includes(one))).join(",") });
  return (
    <section class="panel event-filters" aria-label={eventsText.filters}>
      <fieldset class="kinds">
        <legend class="only-heard">{eventsText.kinds}</legend>
        {kindNames.map((name) => (
          <Tick
            key={name}
            label={auditKinds[name]}
            isOn={kinds.includes(name)}
            onChange={(isOn) => chooseKind(name, isOn)}
          />
        ))}
      </fieldset>
      <div class="form-row audit-filters">
        <TextField
          label={eventsText.by}
          value={who}
          placeholder={eventsText.everyone}
          suggestions={[...new Set(known)]}
          onValue={(value) => choose({ who: value.trim() })}
        />
        <TextField type="date" label={eventsText.day} value={day} onValue={(value) => choose({ day: value })} />
      </div>
    </section>
  );
}

function Entries({ entries }: { entries: readonly AuditEntry[] }): JSX.Element {
  return (
    <Table
      label={text.changes}
      rows={entries}
      keyOf={({ id }) => id}
      columns={[
        { label: columnsText.at, kind: "tight", cell: ({ at }) => <Ago at={at} /> },
        { label: columnsText.what, cell: (entry) => <What {...entry} /> },
        { label: text.ended, kind: "tight", cell: (entry) => <Ended {...entry} /> },
        { label: text.from, kind: "tight", cell: ({ from }) => <span class="mono">{from}</span> },
      ]}
    />
  );
}

/** A sentence, and below it the exact request or command. */
function What({ who, role, action, target }: AuditEntry): JSX.Element {
  const isCommand = action.startsWith("simfleet ");
  const verb = text.actions[action] ?? (isCommand ? text.ranCommand : text.requested);
  const hasVerb = action in text.actions;
  return (
    <>
      <b>{who ?? text.somebody}</b> {verb} {!hasVerb && <span class="mono">{action}</span>}{" "}
      {target !== null && <IdLink id={target} href={hrefOfTarget(action, target)} />}
      <span class="quiet">
        {hasVerb && <span class="mono">{action}</span>} {role !== null && text.withRole(role)}
      </span>
    </>
  );
}

const badges = { done: "done", refused: "rejected", failed: "failed", "not recorded": "unknown" } as const;

function Ended({ result, status, exitCode }: AuditEntry): JSX.Element {
  if (result === "not recorded") return <Badge state={badges[result]} word={text.noResult} />;
  return <Badge state={badges[result]} word={`${result} ${status ?? text.exit(exitCode)}`} />;
}
