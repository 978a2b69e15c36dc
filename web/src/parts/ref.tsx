/** Ids as links, each with a button that copies it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type CredentialKind, hrefOf, hrefOfCredential, hrefOfId } from "../pure/route.ts";
import { splitAtIds } from "../pure/ids.ts";
import { equals } from "../pure/sims/filter.ts";
import { keyColumn, profile } from "../session.ts";
import { Icon } from "./icon.tsx";

/** @param href of the object; without one, the id is plain text */
export function IdLink({ id, href }: { id: string; href: string | undefined }): JSX.Element {
  return (
    <span class="id">
      {href === undefined ? (
        <span class="mono">{id}</span>
      ) : (
        <a class="mono" href={href}>
          {id}
        </a>
      )}
      <Copy id={id} />
    </span>
  );
}

/** The id of a run, a sync, or a rotation. */
export function Ref({ id }: { id: string }): JSX.Element {
  return <IdLink id={id} href={hrefOfId(id)} />;
}

/** A text of the server, such as a reason or an error message, in which each id is a link. */
export function Said({ text }: { text: string }): JSX.Element {
  return <>{splitAtIds(text).map((part, i) => (i % 2 === 0 ? part : <Ref key={i} id={part} />))}</>;
}

/** A run by its name, if it has one. */
export function RunLink({ runId, name }: { runId: string; name: string }): JSX.Element {
  return name === "" ? <Ref id={runId} /> : <a href={hrefOf("runs", runId)}>{name}</a>;
}

/** The name of a rotation, or the id of a Credential Set or an AuthKey. */
export function CredentialLink({ kind, id }: { kind: CredentialKind; id: string }): JSX.Element {
  return <IdLink id={id} href={hrefOfCredential(kind, id)} />;
}

/** A group leads to its SIMs. */
export function GroupLink({ group }: { group: string }): JSX.Element {
  return <IdLink id={group} href={hrefOf("sims", undefined, { where: equals("groupId", group) })} />;
}

/** @param of the SIM's profile; the selected one if absent */
export function SimLink({ sim, of = profile.value }: { sim: string; of?: string | null | undefined }): JSX.Element {
  if (sim === "") return <></>;
  const other = of === null || of === profile.value ? undefined : of;
  return <IdLink id={sim} href={hrefOf("sims", sim, { profile: other })} />;
}

/** The link of a field that holds an id; undefined for any other field. A SIM is found by its second id too. */
export function fieldLink(field: string, value: unknown): JSX.Element | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  if (field === "groupId") return <GroupLink group={value} />;
  if (field !== "simId" && field !== "imsi") return undefined;
  if (field === keyColumn.value) return <SimLink sim={value} />;
  return <IdLink id={value} href={hrefOf("sims", undefined, { search: value })} />;
}

const saidMs = 2_000;

/** In sight while the pointer or the focus is on the id. */
export function Copy({ id }: { id: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await copyText(id);
    setCopied(true);
    setTimeout(() => setCopied(false), saidMs);
  };
  return (
    <button type="button" class="copy" aria-label={isCopied ? "Copied" : `Copy ${id}`} onClick={() => void copy()}>
      <Icon name={isCopied ? "done" : "copy"} size={14} />
    </button>
  );
}

/** Over plain HTTP from another machine, a browser has no clipboard for scripts, but the older command. */
async function copyText(content: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(content);
  const field = document.createElement("textarea");
  field.value = content;
  document.body.append(field);
  field.select();
  // oxlint-disable-next-line typescript/no-deprecated -- there is no other way without a secure context
  document.execCommand("copy");
  field.remove();
}
