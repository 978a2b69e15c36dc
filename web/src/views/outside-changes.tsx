/** Changes in the fleet that were not made by a run, as detected by syncs. */
import type { JSX } from "preact";
import { Icon } from "../parts/icon.tsx";
import { Empty, Panel, ProblemNotice } from "../parts/notice.tsx";
import { More, usePages } from "../parts/pages.tsx";
import { Table } from "../parts/table.tsx";
import { Ago } from "../parts/time.tsx";
import { valueText } from "../pure/format.ts";
import type { Change } from "../pure/shapes.ts";
import { profile } from "../session.ts";

const words: Readonly<Record<string, string>> = {
  "sim.added": "is new",
  "sim.gone": "is no longer listed",
  "sim.returned": "is listed again",
};

export function OutsideChanges(): JSX.Element {
  const pages = usePages<Change>("/v1/changes", "changes", {
    query: { profile: profile.value, by: "outside", limit: 20 },
    every: { ms: 60_000, andOn: ["sync.completed"] },
  });
  return (
    <Panel title="External changes" hint="Changes that syncs found, newest first">
      <ProblemNotice problem={pages.first.problem} />
      {pages.first.value !== undefined && pages.rows.length === 0 && (
        <Empty command="simfleet sims changes --by outside">No external changes.</Empty>
      )}
      {pages.rows.length > 0 && (
        <Table
          label="External changes"
          rows={pages.rows}
          keyOf={({ id }) => id}
          columns={[
            { label: "Seen", kind: "tight", cell: ({ at }) => <Ago at={at} /> },
            { label: "SIM", cell: ({ sim }) => <span class="mono">{sim}</span> },
            { label: "What", cell: ({ field, type }) => field ?? words[type] ?? type },
            { label: "Before and after", cell: (change) => change.field !== undefined && <BeforeAfter {...change} /> },
          ]}
        />
      )}
      <More pages={pages} what="Older changes" />
    </Panel>
  );
}

export function BeforeAfter({ before, after }: { before?: unknown; after?: unknown }): JSX.Element {
  return (
    <span class="change">
      {valueText(before)}
      <Icon name="arrow" size={14} />
      <span class="only-heard"> becomes </span>
      {valueText(after)}
    </span>
  );
}
