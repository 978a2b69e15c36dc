/** Ids as links, each with a button that copies it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { hrefOf } from "../pure/route.ts";
import { profile } from "../session.ts";
import { shellText as text } from "../strings/shell.ts";
import { Icon } from "./icon.tsx";

/** The id of a run, a sync, or a rotation. */
export function Ref({ id }: { id: string }): JSX.Element {
  const href = id.startsWith("r-") ? hrefOf("runs", id) : id.startsWith("s-") ? hrefOf("fleet") : hrefOf("credentials");
  return (
    <span class="id">
      {/^[a-z]-/.test(id) ? <a href={href}>{id}</a> : <span class="mono">{id}</span>}
      <Copy id={id} />
    </span>
  );
}

/** @param of the SIM's profile; the selected one if absent */
export function SimLink({ sim, of = profile.value }: { sim: string; of?: string | null | undefined }): JSX.Element {
  if (sim === "") return <></>;
  const other = of === null || of === profile.value ? undefined : of;
  return (
    <span class="id">
      <a class="mono" href={hrefOf("sims", sim, { profile: other })}>
        {sim}
      </a>
      <Copy id={sim} />
    </span>
  );
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
    <button type="button" class="copy" aria-label={isCopied ? text.copied : text.copy(id)} onClick={() => void copy()}>
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
