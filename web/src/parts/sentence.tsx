/** An event as a sentence, in which what it names is a link. */
import type { JSX } from "preact";
import { sentenceOf } from "../pure/events/sentences.ts";
import type { FleetEvent } from "../pure/shapes.ts";
import { CredentialLink, fieldLink, Ref, SimLink, Said } from "./ref.tsx";
import { At } from "./time.tsx";

export function Sentence({ event }: { event: FleetEvent }): JSX.Element {
  return (
    <span class="sentence">
      {sentenceOf(event).map((part) => (typeof part === "string" ? part : <Field {...part} of={event} />))}
    </span>
  );
}

function Field({ field, value, of }: { field: string; value: string; of: FleetEvent }): JSX.Element {
  if (field === "sim") return <SimLink sim={value} of={of.profile} />;
  if (field === "run" || field === "cause") return <Ref id={value} />;
  if (field === "rotation") return <CredentialLink kind="rotation" id={value} />;
  if (field === "credentialsId") return <CredentialLink kind="set" id={value} />;
  if (field === "authKeyId" || field === "oldId") return <CredentialLink kind="authKey" id={value} />;
  const link = field === "before" || field === "after" ? fieldLink(of.fields.field ?? "", value) : undefined;
  if (link !== undefined) return link;
  if (field === "until" || field === "since") return <At at={value} />;
  if (/^\d+$/.test(value)) return <>{Number(value).toLocaleString("en-US")}</>;
  return (
    <b>
      <Said text={value} />
    </b>
  );
}
