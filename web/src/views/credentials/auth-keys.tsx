/** The AuthKeys of the user that simfleet authenticates as, and the rotation of the one in use. */
import type { JSX } from "preact";
import { addressOf, ask } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button, useAction } from "../../parts/button.tsx";
import { CurrentProblemNotice, Empty, Notice, Panel, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { confirmed } from "../../parts/question.tsx";
import { CredentialLink, Ref } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { place } from "../../place.ts";
import type { AuthKeyReport, AuthKeyRotationReport } from "../../pure/shapes.ts";
import { profile, refusal } from "../../session.ts";
import { Said } from "../../parts/said.tsx";

interface Answer {
  readonly authKeys: readonly AuthKeyReport[];
  readonly rotation: AuthKeyRotationReport | null;
}

export function AuthKeys(): JSX.Element {
  const address = addressOf("/v1/authkeys", { profile: profile.value });
  const { value, problem, refresh } = useLive<Answer>(address, { ms: 60_000, andOn: ["authkey.", "secret."] });
  const isInProgress = value?.rotation?.now !== null && value?.rotation?.now !== undefined;
  return (
    <Panel
      title="AuthKeys"
      actions={value !== undefined && !isInProgress && <Rotate keys={value.authKeys} onStarted={refresh} />}
    >
      <ProblemNotice problem={problem} what="The AuthKeys could not be loaded" />
      {value === undefined && problem === undefined && <Waiting what="the AuthKeys from the platform" />}
      {value?.rotation !== null && value?.rotation !== undefined && <Rotation rotation={value.rotation} />}
      {value?.authKeys.length === 0 && <Empty command="simfleet authkeys list">The user has no AuthKey.</Empty>}
      {value !== undefined && value.authKeys.length > 0 && (
        <Table
          label="AuthKeys"
          rows={value.authKeys}
          keyOf={({ authKeyId }) => authKeyId}
          current={place.value.query.authKey}
          columns={[
            { label: "AuthKey", cell: ({ authKeyId }) => <CredentialLink kind="authKey" id={authKeyId} /> },
            {
              label: "Created",
              kind: "tight",
              cell: ({ createdAt }) => <Ago at={createdAt} none="unknown" />,
            },
            {
              label: "Last used",
              kind: "tight",
              cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} none="never, or unknown" />,
            },
            { label: "Configured", cell: ({ configured }) => configured ?? "no" },
            { label: "Used by", cell: ({ usedBy }) => (usedBy.length === 0 ? "no worker" : usedBy.join(", ")) },
          ]}
        />
      )}
    </Panel>
  );
}

function Rotation({ rotation }: { rotation: AuthKeyRotationReport }): JSX.Element | null {
  const { rotationId, state, now, reason, finishedAt, problem } = rotation;
  if (now === null && state !== "failed") return null;
  if (problem !== undefined) return <CurrentProblemNotice problem={problem} />;
  return (
    <Notice kind={state === "failed" ? "bad" : "plain"} icon={state === "failed" ? "warn" : "busy"}>
      <b>
        Rotation <Ref id={rotationId} /> <Badge state={state} />
      </b>
      <span>
        <Said text={now ?? reason ?? ""} />
      </span>
      {finishedAt !== null && (
        <span class="hint">
          ended <Ago at={finishedAt} />
        </span>
      )}
    </Notice>
  );
}

function Rotate({ keys, onStarted }: { keys: readonly AuthKeyReport[]; onStarted: () => void }): JSX.Element {
  const { isBusy, act } = useAction();
  const inUse = keys.find(({ configured }) => configured === "first")?.authKeyId ?? "the AuthKey in use";
  const start = async (): Promise<string | undefined> => {
    const isMeant = await confirmed({
      title: `Rotate ${inUse}?`,
      text: `A new AuthKey replaces it for the profile ${profile.value}. Runs continue meanwhile. ${inUse} is revoked once no process uses it.`,
      yes: "Rotate the AuthKey",
      isDangerous: true,
    });
    if (!isMeant) return undefined;
    await ask("/v1/authkeys/rotate", { method: "POST", query: { profile: profile.value } });
    onStarted();
    return "Rotation of the AuthKey started.";
  };
  return (
    <Button isSmall isBusy={isBusy} refusal={refusal("admin")} onPress={() => act(start)}>
      Rotate
    </Button>
  );
}
