/** Changes of SIMs that syncs found, newest first. */
import type { JSX } from "preact";
import { Icon } from "../../parts/icon.tsx";
import { Empty, Panel, ProblemNotice } from "../../parts/notice.tsx";
import { More, usePages } from "../../parts/pages.tsx";
import { fieldLink, SimLink } from "../../parts/ref.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { valueText } from "../../pure/format.ts";
import type { Change } from "../../pure/shapes.ts";
import { profile } from "../../session.ts";
import { changeWords } from "../../pure/events/event-texts.ts";

export function OutsideChanges(): JSX.Element {
  return (
    <ChangesPanel
      title="External changes"
      hint="Changes that syncs found, newest first"
      query={{ by: "external" }}
      column={{ label: "SIM", cell: ({ sim }) => <SimLink sim={sim} /> }}
      empty={<Empty command="simfleet sims changes --by external">No external changes.</Empty>}
    />
  );
}

interface PanelProps {
  readonly title: string;
  readonly hint: string;
  readonly query: Readonly<Record<string, string>>;
  readonly column: Column<Change>;
  readonly empty: JSX.Element;
}

function ChangesPanel({ title, hint, query, column, empty }: PanelProps): JSX.Element {
  const pages = usePages<Change>("/v1/changes", "changes", {
    query: { profile: profile.value, limit: 20, ...query },
    every: { ms: 60_000, andOn: ["sync.completed", "sim."] },
  });
  return (
    <Panel title={title} hint={hint}>
      <ProblemNotice problem={pages.first.problem} />
      {pages.first.value !== undefined && pages.rows.length === 0 && empty}
      {pages.rows.length > 0 && (
        <Table
          label={title}
          rows={pages.rows}
          keyOf={({ id }) => id}
          columns={[
            { label: "Seen", kind: "tight", cell: ({ at }) => <Ago at={at} /> },
            column,
            { label: "What", cell: ({ field, type }) => field ?? changeWords[type] ?? type },
            { label: "Before and after", cell: (change) => change.field !== undefined && <BeforeAfter {...change} /> },
          ]}
        />
      )}
      <More pages={pages} what="Older changes" />
    </Panel>
  );
}

interface BeforeAfterProps {
  readonly field?: string | undefined;
  readonly before?: unknown;
  readonly after?: unknown;
}

export function BeforeAfter({ field = "", before, after }: BeforeAfterProps): JSX.Element {
  return (
    <span class="change">
      {fieldLink(field, before) ?? valueText(before)}
      <Icon name="arrow" size={14} />
      <span class="only-heard">{" becomes "}</span>
      {fieldLink(field, after) ?? valueText(after)}
    </span>
  );
}
