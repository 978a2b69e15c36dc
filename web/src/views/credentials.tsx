/**
 * The credentials of an account: the configured rotations with their state, age and next step, AuthKeys, and Credential
 * Sets as reported by the platform. Secret values are never shown.
 */
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { addressOf, ask } from "../ask.ts";
import { useLive } from "../live.ts";
import { ActionButton, PostButton, useAction } from "../parts/action.tsx";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/form/button.tsx";
import { Form, TextField } from "../parts/form/field.tsx";
import { CurrentProblemNotice, Empty, Loaded, Notice, Panel } from "../parts/notice.tsx";
import { CredentialLink, GroupLink, Ref, Said } from "../parts/ref.tsx";
import { Table } from "../parts/table.tsx";
import { Ago } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import { place } from "../place.ts";
import { counted } from "../pure/format.ts";
import { isInProgress, stepsOf } from "../pure/rotation-steps.ts";
import { viewTitles } from "../pure/route.ts";
import type { AuthKeyReport, AuthKeyRotationReport, Reference, RotationReport, SetReport } from "../pure/shapes.ts";
import { profile, refusal } from "../session.ts";
import { useSettled } from "../state.ts";

export function Credentials(): JSX.Element {
  return (
    <View
      title={viewTitles.credentials}
      says="Credential Sets and AuthKeys, their age and use. Secrets are never shown."
    >
      <Rotations />
      <AuthKeys />
      <CredentialSets />
    </View>
  );
}

interface RotationsAnswer {
  readonly rotations: readonly RotationReport[];
  /** Why the platform could not be queried, by profile. */
  readonly unknown?: Readonly<Record<string, string>>;
}

function Rotations(): JSX.Element {
  const address = addressOf("/v1/rotations", { profile: profile.value });
  const live = useLive<RotationsAnswer>(address, { ms: 60_000, andOn: ["credential."] });
  return (
    <Panel title="Rotations">
      <Loaded live={live} what="rotations">
        {({ rotations, unknown = {} }) => (
          <>
            {Object.entries(unknown).map(([name, reason]) => (
              <Notice key={name} kind="warn">
                {`The Credential Sets of ${name} could not be loaded: ${reason}`}
              </Notice>
            ))}
            <Table
              label="Rotations"
              rows={rotations}
              keyOf={({ name }) => name}
              current={place.value.query.rotation}
              empty={
                <Empty command="simfleet credentials rotate NAME">
                  No rotation is configured. Add one to the section rotations of the configuration, as described in
                  docs/rotation.md.
                </Empty>
              }
              columns={[
                { label: "Rotation", cell: ({ name }) => <CredentialLink kind="rotation" id={name} /> },
                { label: "State", cell: (one) => <State rotation={one} /> },
                { label: "Set", cell: (one) => <SetOf {...one} /> },
                { label: "Secret created", kind: "tight", cell: (one) => <Created {...one} /> },
                { label: "Last used", kind: "tight", cell: lastUse },
                { label: "Referenced by", cell: ({ references }) => <References references={references} /> },
                {
                  label: "Actions",
                  kind: "act",
                  cell: (one) => <RotationButtons rotation={one} onChanged={live.refresh} />,
                },
              ]}
            />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

/** The state, the progress, what hinders it, and what comes next. */
function State({ rotation }: { rotation: RotationReport }): JSX.Element {
  const { state, reason, problem, nextStep, nextAt } = rotation;
  const steps = isInProgress(rotation) ? stepsOf(rotation) : [];
  const past = steps.filter(({ isPast }) => isPast);
  return (
    <>
      <Badge state={state} word={state === "never" ? "not rotated yet" : state} />
      {steps.length > 0 && <span class="quiet">{`Step ${past.length} of ${steps.length}: ${past.at(-1)?.word}`}</span>}
      <CurrentProblemNotice problem={problem} />
      {problem === undefined && reason !== null && (
        <span class={state === "failed" ? "fault prose" : "prose"}>
          <Said text={reason} />
        </span>
      )}
      {nextStep !== null && nextStep !== "" && (
        <span class="quiet prose">
          Next: <Said text={nextStep} /> {nextAt !== null && <Ago at={nextAt} />}
        </span>
      )}
    </>
  );
}

function SetOf({ credentialsId, type, strategy }: RotationReport): JSX.Element {
  return (
    <>
      {credentialsId === null ? "none yet" : <CredentialLink kind="set" id={credentialsId} />}
      <span class="quiet">{`${type}, ${strategy}`}</span>
    </>
  );
}

function Created({ rotatedAt, rotationId }: RotationReport): JSX.Element {
  return (
    <>
      <Ago at={rotatedAt} none="unknown" />
      {rotationId !== null && (
        <span class="quiet">
          <Ref id={rotationId} />
        </span>
      )}
    </>
  );
}

function RotationButtons({ rotation, onChanged }: { rotation: RotationReport; onChanged: () => void }): JSX.Element {
  const { name, profile: of, credentialsId, waitsFor, before } = rotation;
  const path = `/v1/rotations/${encodeURIComponent(name)}`;
  return (
    <>
      {waitsFor === "confirmation" && (
        <PostButton
          kind="main"
          isSmall
          label={`Confirm ${name}`}
          needs="admin"
          question={{
            title: `Is ${before ?? "the old set"} no longer referenced?`,
            text: `After a grace period without use, ${before ?? "the old Credential Set"} is deleted. Anything that still uses it then stops working.`,
            yes: "Not referenced",
            isDangerous: true,
          }}
          path={`${path}/confirm`}
          done={`The rotation ${name} continues.`}
          onDone={onChanged}
        >
          Confirm
        </PostButton>
      )}
      {!isInProgress(rotation) && (
        <PostButton
          isSmall
          needs="admin"
          label={`Rotate ${name}`}
          question={{
            title: `Rotate ${name}?`,
            text: `A new secret replaces the one in ${credentialsId ?? "a new Credential Set"} of the profile ${of}. It is delivered to its sinks first, then to the platform.`,
            yes: "Rotate",
            isDangerous: true,
          }}
          path={`${path}/rotate`}
          done={`Rotation of ${name} started.`}
          onDone={onChanged}
        >
          Rotate
        </PostButton>
      )}
    </>
  );
}

function References({ references }: { references: readonly Reference[] | null }): JSX.Element {
  if (references === null) return <>{"not in this platform definition"}</>;
  if (references.length === 0) return <>{"nothing"}</>;
  const shown = references.slice(0, 4);
  const more = references.length - shown.length;
  return (
    <>
      {shown.map(({ groupId, namespace }, i) => (
        <span key={`${groupId} ${namespace}`}>
          {i > 0 && ", "}
          <GroupLink group={groupId} /> ({namespace})
        </span>
      ))}
      {more > 0 && ` and ${counted(more, "other")}`}
    </>
  );
}

interface AuthKeysAnswer {
  readonly authKeys: readonly AuthKeyReport[];
  readonly rotation: AuthKeyRotationReport | null;
}

function AuthKeys(): JSX.Element {
  const [written, setWritten] = useState("");
  const user = useSettled(written.trim(), 500);
  const owner = { profile: profile.value, user: user === "" ? undefined : user };
  const address = addressOf("/v1/authkeys", owner);
  const live = useLive<AuthKeysAnswer>(address, { ms: 60_000, andOn: ["authkey.", "secret."] });
  const isRotating = (live.value?.rotation?.now ?? null) !== null;
  return (
    <Panel
      title="AuthKeys"
      actions={
        <>
          <TextField isCompact label="Sub-user" placeholder="Sub-user" value={written} onValue={setWritten} />
          {live.value !== undefined && !isRotating && (
            <Rotate keys={live.value.authKeys} owner={owner} onDone={live.refresh} />
          )}
        </>
      }
    >
      <Loaded live={live} what="AuthKeys" loading="AuthKeys from the platform">
        {({ authKeys, rotation }) => (
          <>
            {rotation !== null && <AuthKeyRotation rotation={rotation} />}
            <Table
              label="AuthKeys"
              rows={authKeys}
              keyOf={({ authKeyId }) => authKeyId}
              current={place.value.query.authKey}
              empty={<Empty command="simfleet authkeys list">The user has no AuthKey.</Empty>}
              columns={[
                { label: "AuthKey", cell: ({ authKeyId }) => <CredentialLink kind="authKey" id={authKeyId} /> },
                { label: "Created", kind: "tight", cell: ({ createdAt }) => <Ago at={createdAt} none="unknown" /> },
                { label: "Last used", kind: "tight", cell: lastUse },
                { label: "Configured", cell: ({ configured }) => configured ?? "no" },
                { label: "Used by", cell: ({ usedBy }) => (usedBy.length === 0 ? "no worker" : usedBy.join(", ")) },
              ]}
            />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function lastUse({ lastUsedAt }: Pick<AuthKeyReport | SetReport, "lastUsedAt">): JSX.Element {
  return <Ago at={lastUsedAt} none="never, or unknown" />;
}

function AuthKeyRotation({ rotation }: { rotation: AuthKeyRotationReport }): JSX.Element | null {
  const { rotationId, state, now, reason, problem } = rotation;
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
    </Notice>
  );
}

interface RotateProps {
  readonly keys: readonly AuthKeyReport[];
  readonly owner: { readonly profile: string | undefined; readonly user: string | undefined };
  readonly onDone: () => void;
}

function Rotate({ keys, owner, onDone }: RotateProps): JSX.Element {
  const { profile: of, user } = owner;
  const inUse = keys.find(({ configured }) => configured === "first")?.authKeyId ?? "the AuthKey in use";
  return (
    <PostButton
      isSmall
      needs="admin"
      question={{
        title: `Rotate ${inUse}?`,
        text: `A new AuthKey replaces it for ${user === undefined ? `the profile ${of}` : `the user ${user}`}. Runs continue meanwhile. ${inUse} is revoked once no process uses it.`,
        yes: "Rotate the AuthKey",
        isDangerous: true,
      }}
      path="/v1/authkeys/rotate"
      query={owner}
      done="Rotation of the AuthKey started."
      onDone={onDone}
    >
      Rotate
    </PostButton>
  );
}

function CredentialSets(): JSX.Element {
  const [replaced, setReplaced] = useState<SetReport>();
  // A new form has no secret left in it.
  const [forms, setForms] = useState(0);
  const address = addressOf("/v1/credentials", { profile: profile.value });
  const live = useLive<{ credentials: SetReport[] }>(address, { ms: 120_000, andOn: ["credential."] });
  const changed = (): void => {
    setReplaced(undefined);
    setForms(forms + 1);
    live.refresh();
  };
  return (
    <Panel title="Credential Sets">
      <Loaded live={live} what="Credential Sets" loading="sets from the platform">
        {({ credentials }) => (
          <Table
            label="Credential Sets"
            rows={credentials}
            keyOf={({ credentialsId }) => credentialsId}
            current={place.value.query.set}
            empty={<Empty command="simfleet credentials list">The account has no Credential Set.</Empty>}
            columns={[
              { label: "Set", cell: (set) => <SetName {...set} /> },
              { label: "Type", kind: "tight", cell: ({ type }) => type },
              {
                label: "Secret created",
                kind: "tight",
                cell: ({ updatedAt, createdAt }) => <Ago at={updatedAt ?? createdAt} />,
              },
              { label: "Last used", kind: "tight", cell: lastUse },
              {
                label: "Rotation",
                cell: ({ rotation }) => rotation !== null && <CredentialLink kind="rotation" id={rotation} />,
              },
              { label: "Referenced by", cell: ({ references }) => <References references={references} /> },
              {
                label: "Actions",
                kind: "act",
                cell: (set) => <SetButtons {...{ set, changed }} onReplace={() => setReplaced(set)} />,
              },
            ]}
          />
        )}
      </Loaded>
      <SetForm key={`${forms} ${replaced?.credentialsId}`} {...{ replaced, changed }} />
    </Panel>
  );
}

interface SetButtonsProps {
  readonly set: SetReport;
  readonly changed: () => void;
  readonly onReplace: () => void;
}

function SetButtons({ set: { credentialsId }, changed, onReplace }: SetButtonsProps): JSX.Element {
  const remove = async (): Promise<string> => {
    await ask(pathOfSet(credentialsId), { method: "DELETE", query: { profile: profile.value } });
    changed();
    return `${credentialsId} was deleted.`;
  };
  const question = {
    title: `Delete ${credentialsId}?`,
    text: `Its secret is lost. simfleet first checks that no group of the profile ${profile.value} refers to it.`,
    yes: "Delete",
    isDangerous: true,
  };
  return (
    <div class="actions">
      <Button isSmall refusal={refusal("admin")} label={`Replace the secret of ${credentialsId}`} onPress={onReplace}>
        Replace
      </Button>
      <ActionButton isSmall needs="admin" label={`Delete ${credentialsId}`} question={question} work={remove}>
        Delete
      </ActionButton>
    </div>
  );
}

function pathOfSet(credentialsId: string): string {
  return `/v1/credentials/${encodeURIComponent(credentialsId)}`;
}

/** Creates a set, or replaces the secret of one. The secret stays here until it is sent. */
function SetForm({ replaced, changed }: { replaced: SetReport | undefined; changed: () => void }): JSX.Element {
  const [id, setId] = useState("");
  const [type, setType] = useState("psk");
  const [description, setDescription] = useState("");
  const [value, setValue] = useState("");
  const fileId = useId();
  const { isBusy, act } = useAction();
  const credentialsId = replaced?.credentialsId ?? id.trim();
  const title = replaced === undefined ? "Create a Credential Set" : `Replace the secret of ${credentialsId}`;
  const send = async (): Promise<string> => {
    const path = pathOfSet(credentialsId);
    const query = { profile: profile.value };
    if (replaced === undefined) {
      const body = { type: type.trim(), value, ...(description === "" ? {} : { description }) };
      await ask(path, { method: "POST", query, body });
    } else await ask(`${path}/update`, { method: "POST", query, body: { value } });
    changed();
    return `The platform has the secret of ${credentialsId}.`;
  };
  const question = {
    title: `${title}?`,
    text: "Anything that still uses the old secret stops working. The old secret cannot be restored.",
    yes: "Replace",
    isDangerous: true,
  };
  const missing = value === "" || credentialsId === "" ? "An ID and a secret are required." : undefined;
  return (
    <details class="more" open={replaced !== undefined}>
      <summary>{title}</summary>
      <Form class="form" label={title} onSubmit={() => act(send, replaced === undefined ? undefined : question)}>
        <div class="form-row">
          {replaced === undefined && (
            <>
              <TextField label="ID" value={id} onValue={setId} isRequired />
              <TextField label="Type" value={type} onValue={setType} isRequired />
              <TextField label="Description" value={description} onValue={setDescription} />
            </>
          )}
          <TextField
            label="Secret"
            type="password"
            autocomplete="new-password"
            value={value}
            onValue={setValue}
            hint="A value, or a JSON object of all fields of the type; never shown again"
            isRequired
          />
          <div class="field">
            <label for={fileId}>Secret from a file</label>
            <input
              id={fileId}
              class="input"
              type="file"
              onChange={(event) => {
                const [file] = event.currentTarget.files ?? [];
                void file?.text().then((text) => setValue(text.replace(/\r?\n$/, "")));
              }}
            />
          </div>
        </div>
        <div class="actions">
          <Button kind="main" type="submit" isBusy={isBusy} refusal={refusal("admin") ?? missing}>
            {replaced === undefined ? "Create" : "Replace"}
          </Button>
          {replaced !== undefined && <Button onPress={changed}>Cancel</Button>}
        </div>
      </Form>
    </details>
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
