/** The Credential Sets of the account, as reported by the platform. */
import type { JSX } from "preact";
import { addressOf } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { Empty, Panel, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import type { SetReport } from "../../pure/shapes.ts";
import { profile } from "../../session.ts";
import { referencesText } from "./rotations.tsx";

export function CredentialSets(): JSX.Element {
  const address = addressOf("/v1/credentials", { profile: profile.value });
  const { value, problem } = useLive<{ credentials: SetReport[] }>(address, { ms: 120_000, andOn: ["credential."] });
  return (
    <Panel title="Credential Sets">
      <ProblemNotice problem={problem} what="The Credential Sets could not be read" />
      {value === undefined && problem === undefined && <Waiting what="the sets from the platform" />}
      {value?.credentials.length === 0 && (
        <Empty command="simfleet credentials list">The account has no Credential Set.</Empty>
      )}
      {value !== undefined && value.credentials.length > 0 && (
        <Table
          label="Credential Sets"
          rows={value.credentials}
          keyOf={({ credentialsId }) => credentialsId}
          columns={[
            { label: "Set", cell: (set) => <SetName {...set} /> },
            { label: "Type", cell: ({ type }) => type },
            {
              label: "Secret since",
              kind: "tight",
              cell: ({ updatedAt, createdAt }) => <Ago at={updatedAt ?? createdAt} />,
            },
            {
              label: "Last used",
              kind: "tight",
              cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} none="never, or unknown" />,
            },
            { label: "Rotation", cell: ({ rotation }) => rotation },
            { label: "Referenced by", cell: ({ references }) => referencesText(references) },
          ]}
        />
      )}
    </Panel>
  );
}

function SetName({ credentialsId, description }: SetReport): JSX.Element {
  return (
    <>
      <span class="mono">{credentialsId}</span>
      {description !== null && description !== "" && <span class="quiet">{description}</span>}
    </>
  );
}
