/** Who changed what, through the control API or by a command on a worker's machine, and who attempted to. */
import type { JSX } from "preact";
import { Badge } from "../parts/badge.tsx";
import { Empty, Notice, ProblemNotice, Waiting } from "../parts/notice.tsx";
import { More, usePages } from "../parts/pages.tsx";
import { Ref } from "../parts/ref.tsx";
import { Table } from "../parts/table.tsx";
import { At } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import type { AuditEntry } from "../pure/shapes.ts";
import { refusal } from "../session.ts";

export function Audit(): JSX.Element {
  const off = refusal("admin");
  const pages = usePages<AuditEntry>(off === undefined ? "/v1/audit" : undefined, "entries", {
    query: { limit: 50 },
    every: { ms: 15_000 },
  });
  const { value, problem } = pages.first;
  return (
    <View
      title="Audit"
      says="Who changed what, or tried to, through the control API or the command line. Newest first."
    >
      {off !== undefined && (
        <Notice kind="warn" icon="person">
          <b>Not allowed for this token</b>
          <span>{off}</span>
        </Notice>
      )}
      <ProblemNotice problem={problem} what="The audit log could not be read" />
      {off === undefined && value === undefined && problem === undefined && <Waiting what="the audit log" />}
      {value !== undefined && (
        <section class="panel" aria-label="Audit log">
          {pages.rows.length === 0 ? (
            <Empty command="simfleet audit list">
              No changes yet. Changes made here, by scripts and by commands appear here.
            </Empty>
          ) : (
            <Entries entries={pages.rows} />
          )}
          <More pages={pages} what="Older entries" />
        </section>
      )}
    </View>
  );
}

function Entries({ entries }: { entries: readonly AuditEntry[] }): JSX.Element {
  return (
    <Table
      label="Changes"
      rows={entries}
      keyOf={({ id }) => id}
      columns={[
        { label: "At", kind: "tight", cell: ({ at }) => <At at={at} /> },
        { label: "Who", cell: (entry) => <Who {...entry} /> },
        { label: "What", cell: ({ action }) => <span class="mono change">{action}</span> },
        { label: "About", cell: ({ target }) => target !== null && <Ref id={target} /> },
        { label: "Ended", kind: "tight", cell: (entry) => <Ended {...entry} /> },
        { label: "From", kind: "tight", cell: ({ from }) => <span class="mono">{from}</span> },
      ]}
    />
  );
}

function Who({ who, role }: AuditEntry): JSX.Element {
  return (
    <>
      {who ?? "unknown"}
      {role !== null && <span class="quiet">{role}</span>}
    </>
  );
}

const badges = { done: "done", refused: "rejected", failed: "failed", "not recorded": "unknown" } as const;

function Ended({ result, status, exitCode }: AuditEntry): JSX.Element {
  if (result === "not recorded") return <Badge state={badges[result]} word="no result recorded" />;
  return <Badge state={badges[result]} word={`${result} ${status ?? `exit ${exitCode}`}`} />;
}
