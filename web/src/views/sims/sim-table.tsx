/**
 * The SIMs of the explorer: only the rows in sight are drawn, and the next page is requested before its end comes into
 * sight. So a million SIMs need no more elements than fifty.
 */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { SimLink } from "../../parts/ref.tsx";
import { Ago } from "../../parts/time.tsx";
import { drawnRows, fieldOf, fieldTitle, isNearEnd, recordFields } from "../../pure/sims/explorer.ts";
import type { SimDocument } from "../../pure/shapes.ts";
import { keyColumn } from "../../session.ts";
import { Value } from "../sims/sim-fields.tsx";

interface SimTableProps {
  readonly sims: readonly SimDocument[];
  readonly columns: readonly string[];
  /** Number of SIMs in all, if it is known. */
  readonly total: number | undefined;
  readonly sort: string;
  readonly sortable: ReadonlySet<string>;
  readonly onSort: (field: string) => void;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
  readonly onNearEnd: () => void;
}

export function SimTable(props: SimTableProps): JSX.Element {
  const { sims, columns, total, selected, onSelect, onNearEnd } = props;
  const region = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ scrollTop: 0, height: 600, rowHeight: 29 });
  const drawn = drawnRows(sims.length, sight);
  useEffect(() => {
    const host = region.current;
    if (host === null) return undefined;
    const measure = (): void => {
      const rowHeight = host.querySelector("tbody tr:not([aria-hidden])")?.clientHeight ?? 29;
      setSight({ scrollTop: host.scrollTop, height: host.clientHeight, rowHeight });
    };
    const watch = new ResizeObserver(measure);
    watch.observe(host);
    host.addEventListener("scroll", measure, { passive: true });
    return () => {
      watch.disconnect();
      host.removeEventListener("scroll", measure);
    };
  }, []);
  useEffect(() => {
    if (isNearEnd(sims.length, drawn)) onNearEnd();
  }, [drawn.to, sims.length, onNearEnd]);

  const toggle = (key: string): void => {
    const next = new Set(selected);
    if (!next.delete(key)) next.add(key);
    onSelect(next);
  };
  const isAll = sims.length > 0 && sims.every((sim) => selected.has(keyOf(sim)));
  return (
    <div ref={region} class="long-list" role="region" aria-label="SIMs" tabIndex={0}>
      <table aria-label="SIMs" aria-rowcount={total === undefined ? -1 : total + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" class="is-select">
              <input
                type="checkbox"
                aria-label="Select all loaded SIMs"
                checked={isAll}
                onChange={() => onSelect(isAll ? new Set() : new Set(sims.map(keyOf)))}
              />
            </th>
            {columns.map((name) => (
              <Header key={name} name={name} {...props} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer height={drawn.from * sight.rowHeight} columns={columns.length + 1} />
          {sims.slice(drawn.from, drawn.to).map((sim, i) => {
            const key = keyOf(sim);
            return (
              <tr key={key} aria-rowindex={drawn.from + i + 2}>
                <td class="is-select">
                  <input
                    type="checkbox"
                    aria-label={`Select ${key}`}
                    checked={selected.has(key)}
                    onChange={() => toggle(key)}
                  />
                </td>
                {columns.map((name) => (
                  <td key={name}>
                    {name === keyColumn.value ? <SimLink sim={key} /> : <Cell name={name} sim={sim} />}
                  </td>
                ))}
              </tr>
            );
          })}
          <Spacer height={(sims.length - drawn.to) * sight.rowHeight} columns={columns.length + 1} />
        </tbody>
      </table>
    </div>
  );
}

function keyOf(sim: SimDocument): string {
  return String(sim[keyColumn.value]);
}

function Header({ name, sort, sortable, onSort }: SimTableProps & { name: string }): JSX.Element {
  if (!sortable.has(name)) {
    return (
      <th scope="col" title="Narrow the filter to sort by this field">
        {fieldTitle(name)}
      </th>
    );
  }
  const order = sort === name ? "ascending" : sort === `-${name}` ? "descending" : undefined;
  return (
    <th scope="col" aria-sort={order ?? "none"}>
      <button type="button" class="sort" title={`Sort by ${name}`} onClick={() => onSort(name)}>
        {fieldTitle(name)}
        <span aria-hidden="true">{order === "ascending" ? " ↑" : order === "descending" ? " ↓" : " ↕"}</span>
      </button>
    </th>
  );
}

function Cell({ name, sim }: { name: string; sim: SimDocument }): JSX.Element {
  const value = fieldOf(sim, name);
  const isInstant = recordFields.some((field) => field === name && field !== "updatedBy");
  return isInstant ? <Ago at={typeof value === "string" ? value : undefined} /> : <Value field={name} of={value} />;
}

/** Takes the place of rows that are not drawn. */
function Spacer({ height, columns }: { height: number; columns: number }): JSX.Element | null {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" style={{ height: `${height}px` }}>
      <td colSpan={columns} />
    </tr>
  );
}
