/** References: a run or a SIM as a link, a sync or rotation by its id. */
import type { JSX } from "preact";
import { hrefOf } from "../pure/route.ts";
import { profile } from "../session.ts";

export function Ref({ id }: { id: string }): JSX.Element {
  return id.startsWith("r-") ? <a href={hrefOf("runs", id)}>{id}</a> : <span class="mono">{id}</span>;
}

/** @param of the SIM's profile; the selected one if absent */
export function SimLink({ sim, of = profile.value }: { sim: string; of?: string | null | undefined }): JSX.Element {
  if (sim === "") return <></>;
  const other = of === null || of === profile.value ? undefined : of;
  return (
    <a class="mono" href={hrefOf("sims", sim, { profile: other })}>
      {sim}
    </a>
  );
}
