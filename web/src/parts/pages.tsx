/** Paginated lists: the first page is kept up to date, older pages are loaded on demand. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { addressOf, ask, type Query } from "../ask.ts";
import { type Every, type Live, useLive } from "../live.ts";
import { useAction } from "./action.tsx";
import { Button } from "./form/button.tsx";
import { ProblemNotice } from "./notice.tsx";
import { Table, type TableProps } from "./table.tsx";

interface Pages<T> {
  readonly rows: readonly T[];
  readonly first: Live<Readonly<Record<string, unknown>>>;
  readonly hasMore: boolean;
  readonly isBusy: boolean;
  readonly more: () => void;
}

/** @param plural name of the list in the response, such as `runs` */
export function usePages<T>(
  path: string | undefined,
  plural: string,
  asking: { query: Query; every: Every },
): Pages<T> {
  const address = path === undefined ? undefined : addressOf(path, asking.query);
  const first = useLive<Readonly<Record<string, unknown>>>(address, asking.every);
  const [older, setOlder] = useState<{ rows: readonly T[]; cursor: string | null } | undefined>();
  const { isBusy, act } = useAction();
  useEffect(() => setOlder(undefined), [address]);

  const firstRows = (first.value?.[plural] ?? []) as readonly T[];
  const cursor = older === undefined ? ((first.value?.nextCursor ?? null) as string | null) : older.cursor;
  const readOlder = async (): Promise<undefined> => {
    if (path === undefined || cursor === null) return;
    const page = await ask<Readonly<Record<string, unknown>>>(path, { query: { ...asking.query, cursor } });
    const rows = [...(older?.rows ?? []), ...(page[plural] as readonly T[])];
    setOlder({ rows, cursor: page.nextCursor as string | null });
  };
  return {
    rows: [...firstRows, ...(older?.rows ?? [])],
    first,
    hasMore: cursor !== null,
    isBusy,
    more: () => act(readOlder),
  };
}

export function More({ pages, what }: { pages: Pages<unknown>; what: string }): JSX.Element | null {
  if (!pages.hasMore) return null;
  return (
    <div class="more">
      <Button isSmall isBusy={pages.isBusy} onPress={pages.more}>
        {what}
      </Button>
    </div>
  );
}

interface PageTableProps<Row> extends Omit<TableProps<Row>, "rows"> {
  readonly pages: Pages<Row>;
  /** The label of the button that loads more rows. */
  readonly more: string;
}

/** The loaded pages as one table. */
export function PageTable<Row>({ pages, more, ...table }: PageTableProps<Row>): JSX.Element {
  return (
    <>
      <ProblemNotice problem={pages.first.problem} />
      {pages.first.value !== undefined && <Table {...table} rows={pages.rows} />}
      <More pages={pages} what={more} />
    </>
  );
}
