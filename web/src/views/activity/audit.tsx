/** Who changed what, through the control API or by a command on a worker's machine, and who attempted to. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { download, type Query } from "../../ask.ts";
import { Badge } from "../../parts/badge.tsx";
import { ActionButton } from "../../parts/action.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Empty, Loaded, Notice } from "../../parts/notice.tsx";
import { More, usePages } from "../../parts/pages.tsx";
import { IdLink, Said } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { place, replacePlace } from "../../place.ts";
import { spanOf } from "../../pure/events/event-choice.ts";
import { hrefOf, hrefOfTarget } from "../../pure/route.ts";
import type { AuditEntry } from "../../pure/shapes.ts";
import { refusal } from "../../session.ts";
import { Filters } from "./filters.tsx";

/** `AuthKeys` */
function titleOf(kind: string): string {
  return kind.replace("keys", "Keys").replace(/^./, (first) => first.toUpperCase());
}

export function Audit(): JSX.Element {
  const off = refusal("admin");
  const { who = "", day = "", kind = "" } = place.value.query;
  const kinds = kind.split(",").filter(Boolean);
  const [since, until] = spanOf(day) ?? [];
  const chosen = { who, since, until, kind: kinds };
  const pages = usePages<AuditEntry>(off === undefined ? "/v1/audit" : undefined, "entries", {
    query: { ...chosen, limit: 50 },
    every: { ms: 15_000 },
  });
  const known = useRef<readonly string[]>(kinds);
  known.current = (pages.first.value?.kinds as readonly string[] | undefined) ?? known.current;
  const isFiltered = who !== "" || day !== "" || kinds.length > 0;
  if (off !== undefined) {
    return (
      <Notice kind="warn" icon="person">
        <b>Not allowed for this token</b>
        <span>{off}</span>
      </Notice>
    );
  }
  return (
    <>
      <Filters
        {...{ kinds, by: who, day, people: pages.rows.flatMap((entry) => entry.who ?? []) }}
        known={Object.fromEntries(known.current.map((name) => [name, titleOf(name)]))}
        onChange={({ kinds: chosenKinds = kinds, by = who, day: chosenDay = day }) =>
          replacePlace(hrefOf("activity", "audit", { who: by, day: chosenDay, kind: chosenKinds.join(",") }))
        }
      >
        <Export chosen={chosen} />
      </Filters>
      <Loaded live={pages.first} what="audit log">
        {() => (
          <section class="panel" aria-label="Audit log">
            <Table
              isDense
              label="Changes"
              rows={pages.rows}
              keyOf={({ id }) => id}
              empty={
                <Empty command="simfleet audit list">
                  {isFiltered
                    ? "No entry matches."
                    : "No changes yet. Changes made in the dashboard, by scripts or by commands appear here."}
                </Empty>
              }
              columns={[
                { label: "Time", kind: "tight", cell: ({ at }) => <Ago at={at} /> },
                { label: "What", cell: (entry) => <What {...entry} /> },
                { label: "Result", kind: "tight", cell: (entry) => <Ended {...entry} /> },
                { label: "From", kind: "tight", cell: ({ from }) => <span class="mono">{from}</span> },
              ]}
            />
            <More pages={pages} what="Older entries" />
          </section>
        )}
      </Loaded>
    </>
  );
}

function Export({ chosen }: { chosen: Query }): JSX.Element {
  const save = async (): Promise<undefined> => {
    await download("/v1/audit/export", chosen, "audit.csv");
  };
  return (
    <ActionButton needs="admin" work={save}>
      <Icon name="down" size={16} />
      Export as CSV
    </ActionButton>
  );
}

/** A sentence, and below it what a run changes and the exact request or command. */
function What({ who, role, action, did, target, made, about }: AuditEntry): JSX.Element {
  const isSaid = about !== null && /^(undid|retried) /.test(about);
  const named = made ?? target;
  return (
    <>
      <b>{who ?? "Unknown caller"}</b>{" "}
      {isSaid ? (
        <Said text={about} />
      ) : (
        <>
          {did ?? (action.startsWith("simfleet ") ? "ran" : "requested")}{" "}
          {did === null && <span class="mono">{action}</span>}{" "}
          {named !== null && <IdLink id={named} href={hrefOfTarget(action, named)} />}
        </>
      )}
      {about !== null && !isSaid && <span class="quiet prose">{about}</span>}
      <span class="quiet">
        {(did !== null || isSaid) && <span class="mono">{action}</span>} {role !== null && `with the role ${role}`}
      </span>
    </>
  );
}

function Ended({ result, status, exitCode }: AuditEntry): JSX.Element {
  if (result === "not recorded") return <Badge state="unknown" word="no result recorded" />;
  return <Badge state={result} word={`${result} ${status ?? `exit ${exitCode}`}`} />;
}
