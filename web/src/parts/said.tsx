/** A text of the server, such as a reason or an error message, in which each id is a link. */
import type { JSX } from "preact";
import { splitAtIds } from "../pure/ids.ts";
import { Ref } from "./ref.tsx";

export function Said({ text }: { text: string }): JSX.Element {
  return <>{splitAtIds(text).map((part, i) => (i % 2 === 0 ? part : <Ref key={i} id={part} />))}</>;
}
