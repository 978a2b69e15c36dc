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
import { References } from "./rotations.tsx";

export function CredentialSets(): JSX.Element {
  const address = addressOf("/v1/credentials", { profile: profile.value });
  const { value, problem } = useLive<{ credentials: SetReport[] }>(address, { ms: 120_000, andOn: ["credential."] });
  return (
    <Panel title="Credential Sets">
      <ProblemNotice problem={problem} what="The Credential Sets could not be loaded" />
      {value === undefined && problem === undefined && <Waiting what="the sets from the platform" />}
      {value?.credentials.length === 0 && (
        <Empty command="simfleet credentials list">The account has no Credential Set.</Empty>
      )}
      {value !== undefined && value.credentials.length > 0 && (
        <Table
          label="Credential Sets"
          rows={value.credentials}
          keyOf={({ credentialsId }) => credentialsId}
          current={place.value.query.set}
          columns={[
            { label: "Set", cell: (set) => <SetName {...set} /> },
            { label: "Type", cell: ({ type }) => type },
            {
              label: "Secret created",
              kind: "tight",
              cell: ({ updatedAt, createdAt }) => <Ago at={updatedAt ?? createdAt} />,
            },
            {
              label: "Last used",
              kind: "tight",
              cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} none="never, or unknown" />,
            },
            {
              label: "Rotation",
              cell: ({ rotation }) => rotation !== null && <CredentialLink kind="rotation" id={rotation} />,
            },
            { label: "Referenced by", cell: ({ references }) => <References references={references} /> },
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
