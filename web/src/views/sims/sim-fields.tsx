/** The fields of a SIM as stored, and next to them what the platform shows now. */
import type { JSX } from "preact";
import { Badge } from "../../parts/badge.tsx";
import { Panel } from "../../parts/notice.tsx";
import { fieldLink } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { At } from "../../parts/time.tsx";
import { valueText, counted } from "../../pure/format.ts";
import type { SimDocument } from "../../pure/shapes.ts";
import { fieldTitle } from "../../pure/sims/explorer.ts";
import { type FieldLine, type Leaves, comparedFields, instantOf, leavesOf, otherFields } from "../../pure/sims/sim.ts";

export function SimFields({ stored, fresh }: { stored: Leaves; fresh: SimDocument | undefined }): JSX.Element {
  if (fresh === undefined) {
    return (
      <Panel title="Fields" hint="From the inventory">
        <FieldTable label="Fields" rows={[...stored]} />
      </Panel>
    );
  }
  const now = leavesOf(fresh);
  const lines = comparedFields(stored, now);
  const others = otherFields(stored, now);
  const different = lines.filter(({ isDifferent }) => isDifferent).length;
  const hint = (
    <span role="status">
      Read from the platform <At at={String(fresh.seenAt)} />
      {different === 0 ? ": no difference" : `: ${counted(different, "field differs", "fields differ")}`}
    </span>
  );
  return (
    <Panel title="Fields" hint={hint}>
      {lines.length > 0 && <Compared lines={lines} />}
      {others.length > 0 && (
        <details class={lines.length > 0 ? "more" : ""} open={lines.length === 0}>
          <summary>{`${counted(others.length, "more field", "more fields")} of the platform's record`}</summary>
          <FieldTable label="Fields of the platform's record" rows={others} />
        </details>
      )}
    </Panel>
  );
}

function Compared({ lines }: { lines: readonly FieldLine[] }): JSX.Element {
  return (
    <Table
      label="Fields"
      rows={lines}
      keyOf={({ field }) => field}
      columns={[
        { label: "Field", kind: "tight", cell: ({ field }) => fieldTitle(field) },
        { label: "Inventory", cell: ({ field, stored }) => <Value field={field} of={stored} /> },
        { label: "Platform", cell: ({ field, fresh }) => <Value field={field} of={fresh} /> },
        {
          label: "Compared",
          kind: "tight",
          cell: ({ isDifferent }) => isDifferent && <Badge state="stalled" word="differs" />,
        },
      ]}
    />
  );
}

type Row = readonly [field: string, value: unknown];

function FieldTable({ label, rows }: { label: string; rows: readonly Row[] }): JSX.Element {
  return (
    <Table<Row>
      isDense
      label={label}
      rows={rows}
      keyOf={([field]) => field}
      columns={[
        { label: "Field", kind: "tight", cell: ([field]) => fieldTitle(field) },
        { label: "Value", cell: ([field, value]) => <Value field={field} of={value} /> },
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
