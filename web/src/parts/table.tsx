/** Tables that become cards on a phone, and scroll within their own region if they are too wide. */
import type { ComponentChildren, JSX } from "preact";

export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly kind?: "number" | "tight" | "act";
}

export interface TableProps<Row> {
  /** The accessible name of the table. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  /** The key of the row that the address names. */
  readonly current?: string | undefined;
  /** On a phone: the cells side by side, without the labels of texts. */
  readonly isDense?: boolean;
  /** Instead of a table without rows. */
  readonly empty?: JSX.Element;
}

/** Called once the element is there, and without it when it goes. */
export function intoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "center" });
}

/** Roles are explicit, since the card layout removes the table semantics. */
export function Table<Row>({ label, columns, rows, keyOf, current, isDense, empty }: TableProps<Row>): JSX.Element {
  if (rows.length === 0 && empty !== undefined) return empty;
  return (
    <div class="table-region" role="region" aria-label={label} tabIndex={0}>
      <table class={isDense === true ? "cards is-dense" : "cards"} role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th key={column.label} role="columnheader" scope="col" class={classOf(column)}>
                {column.kind === "act" ? <span class="only-heard">{column.label}</span> : column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              role="row"
              {...(keyOf(row) === current ? { "aria-current": "true", ref: intoView } : {})}
            >
              {columns.map((column) => (
                <td key={column.label} role="cell" data-label={column.label} class={classOf(column)}>
                  {/* One child, so that a card's cell has two halves: its label and this. */}
                  <div>{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf<Row>({ kind }: Column<Row>): string {
  return kind === undefined ? "" : `is-${kind}`;
}
