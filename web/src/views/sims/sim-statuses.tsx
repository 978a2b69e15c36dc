/** The statuses that a SIM had, as the platform returns them on request. */
import type { JSX } from "preact";
import { Button } from "../../parts/button.tsx";
import { Empty, Panel } from "../../parts/notice.tsx";
import { Table } from "../../parts/table.tsx";
import { type Leaves, leavesOf } from "../../pure/sims/sim.ts";
import { refusal } from "../../session.ts";
import { useReading } from "../reading.ts";
import { Value } from "./sim-fields.tsx";

interface Row {
  readonly place: number;
  readonly leaves: Leaves;
}

interface Statuses {
  readonly statuses: readonly Readonly<Record<string, unknown>>[];
}

export function SimStatuses({ address }: { address: string }): JSX.Element {
  const { value, refused, isBusy, read } = useReading<Statuses>(address);
  const rows: readonly Row[] = value?.statuses.map((entry, place) => ({ place, leaves: leavesOf(entry) })) ?? [];
  const names = [...new Set(rows.flatMap(({ leaves }) => [...leaves.keys()]))];
  return (
    <Panel title="Status history" hint="From the platform; reading it uses one call">
      {refused !== undefined && <p class="quiet">{refused}</p>}
      {refused === undefined && value === undefined && (
        <Button isBusy={isBusy} refusal={refusal("operator")} onPress={read}>
          {isBusy ? "Reading …" : "Read the status history"}
        </Button>
      )}
      {value !== undefined && rows.length === 0 && <Empty>The platform has no entries.</Empty>}
      {rows.length > 0 && (
        <Table<Row>
          label="Status history"
          rows={rows}
          keyOf={({ place }) => place}
          columns={names.map((label) => ({ label, cell: ({ leaves }) => <Value field="" of={leaves.get(label)} /> }))}
        />
      )}
    </Panel>
  );
}
