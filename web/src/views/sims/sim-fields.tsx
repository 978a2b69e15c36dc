/** The fields of a SIM as stored, and beside them what the platform shows now. */
import type { JSX } from "preact";
import { Badge } from "../../parts/badge.tsx";
import { Panel } from "../../parts/notice.tsx";
import { fieldLink } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { At } from "../../parts/time.tsx";
import { valueText } from "../../pure/format.ts";
import type { SimDocument } from "../../pure/shapes.ts";
import { type FieldLine, type Leaves, comparedFields, instantOf, leavesOf, otherFields } from "../../pure/sims/sim.ts";
import { simText as text } from "../../strings/sim.ts";

export function SimFields({ stored, fresh }: { stored: Leaves; fresh: SimDocument | undefined }): JSX.Element {
  if (fresh === undefined) {
    return (
      <Panel title={text.fields} hint={text.fieldsHint}>
        <FieldTable label={text.fields} rows={[...stored]} />
      </Panel>
    );
  }
  const now = leavesOf(fresh);
  const lines = comparedFields(stored, now);
  const others = otherFields(stored, now);
  const different = lines.filter(({ isDifferent }) => isDifferent).length;
  const hint = (
    <span role="status">
      {text.readAt} <At at={String(fresh.seenAt)} />
      {text.differences(different)}
    </span>
  );
  return (
    <Panel title={text.fields} hint={hint}>
      {lines.length > 0 && <Compared lines={lines} />}
      {others.length > 0 && (
        <details class={lines.length > 0 ? "more" : ""} open={lines.length === 0}>
          <summary>{text.moreFields(others.length)}</summary>
          <FieldTable label={text.platformFields} rows={others} />
        </details>
      )}
    </Panel>
  );
}

function Compared({ lines }: { lines: readonly FieldLine[] }): JSX.Element {
  return (
    <Table
      label={text.fields}
      rows={lines}
      keyOf={({ field }) => field}
      columns={[
        { label: text.field, kind: "tight", cell: ({ field }) => field },
        { label: text.inventory, cell: ({ field, stored }) => <Value field={field} of={stored} /> },
        { label: text.platform, cell: ({ field, fresh }) => <Value field={field} of={fresh} /> },
        {
          label: text.compared,
          kind: "tight",
          cell: ({ isDifferent }) => isDifferent && <Badge state="stalled" word={text.differs} />,
        },
      ]}
    />
  );
}

type Row = readonly [field: string, value: unknown];

function FieldTable({ label, rows }: { label: string; rows: readonly Row[] }): JSX.Element {
  return (
    <Table<Row>
      label={label}
      rows={rows}
      keyOf={([field]) => field}
      columns={[
        { label: text.field, kind: "tight", cell: ([field]) => field },
        { label: text.value, cell: ([field, value]) => <Value field={field} of={value} /> },
      ]}
    />
  );
}

/** Times as such, ids as links, everything else as it is written. */
export function Value({ field, of }: { field: string; of: unknown }): JSX.Element {
  const link = fieldLink(field, of);
  if (link !== undefined) return link;
  const at = instantOf(of);
  return at === undefined ? <span class="value">{valueText(of)}</span> : <At at={at} />;
}
