/** The Credential Sets of the account, as reported by the platform. */
import type { JSX } from "preact";
import { addressOf } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { Empty, Panel, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { CredentialLink } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { place } from "../../place.ts";
import type { SetReport } from "../../pure/shapes.ts";
import { profile } from "../../session.ts";
import { credentialsText, setsText as text } from "../../strings/credentials.ts";
import { columnsText } from "../../strings/parts.ts";
import { References } from "./rotations.tsx";

export function CredentialSets(): JSX.Element {
  const address = addressOf("/v1/credentials", { profile: profile.value });
  const { value, problem } = useLive<{ credentials: SetReport[] }>(address, { ms: 120_000, andOn: ["credential."] });
  return (
    <Panel title={text.title}>
      <ProblemNotice problem={problem} what={text.failed} />
      {value === undefined && problem === undefined && <Waiting what={text.reading} />}
      {value?.credentials.length === 0 && <Empty command={text.command}>{text.none}</Empty>}
      {value !== undefined && value.credentials.length > 0 && (
        <Table
          label={text.title}
          rows={value.credentials}
          keyOf={({ credentialsId }) => credentialsId}
          current={place.value.query.set}
          columns={[
            { label: text.set, cell: (set) => <SetName {...set} /> },
            { label: columnsText.type, cell: ({ type }) => type },
            {
              label: text.secretSince,
              kind: "tight",
              cell: ({ updatedAt, createdAt }) => <Ago at={updatedAt ?? createdAt} />,
            },
            {
              label: credentialsText.lastUsed,
              kind: "tight",
              cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} none={credentialsText.neverUsed} />,
            },
            {
              label: text.rotation,
              cell: ({ rotation }) => rotation !== null && <CredentialLink kind="rotation" id={rotation} />,
            },
            { label: credentialsText.referencedBy, cell: ({ references }) => <References references={references} /> },
          ]}
        />
      )}
    </Panel>
  );
}

function SetName({ credentialsId, description }: SetReport): JSX.Element {
  return (
    <>
      <CredentialLink kind="set" id={credentialsId} />
      {description !== null && description !== "" && <span class="quiet prose">{description}</span>}
    </>
  );
}
