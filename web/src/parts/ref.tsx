/** A reference to a started job: a run as a link, a sync or rotation by its id. */
import type { JSX } from "preact";
import { hrefOf } from "../pure/route.ts";

export function Ref({ id }: { id: string }): JSX.Element {
  return id.startsWith("r-") ? <a href={hrefOf("runs", id)}>{id}</a> : <span class="mono">{id}</span>;
}
