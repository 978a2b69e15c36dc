/** The configured rotations: state, age of the secret, next step; and their two buttons. */
import type { JSX } from "preact";
import { addressOf, ask } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button, useAction } from "../../parts/button.tsx";
import { CurrentProblemNotice, Empty, Notice, Panel, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { confirmed } from "../../parts/question.tsx";
import { CredentialLink, GroupLink, Ref } from "../../parts/ref.tsx";
import { intoView } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { place } from "../../place.ts";
import { isInProgress, stepsOf } from "../../pure/rotation-steps.ts";
import type { Reference, RotationReport } from "../../pure/shapes.ts";
import { profile, refusal } from "../../session.ts";
import { Said } from "../../parts/said.tsx";
import { counted } from "../../pure/format.ts";

interface Answer {
  readonly rotations: readonly RotationReport[];
  /** Why the platform could not be queried, by profile. */
  readonly unknown?: Readonly<Record<string, string>>;
}

export function Rotations(): JSX.Element {
  const address = addressOf("/v1/rotations", { profile: profile.value });
  const { value, problem, refresh } = useLive<Answer>(address, { ms: 60_000, andOn: ["credential."] });
  const unknown = Object.entries(value?.unknown ?? {});
  return (
    <Panel title="Rotations">
      <ProblemNotice problem={problem} what="The rotations could not be loaded" />
      {value === undefined && problem === undefined && <Waiting what="the rotations" />}
      {unknown.map(([name, reason]) => (
        <Notice key={name} kind="warn">
          {`The Credential Sets of ${name} could not be loaded: ${reason}`}
        </Notice>
      ))}
      {value?.rotations.length === 0 && (
        <Empty command="simfleet credentials rotate NAME">
          No rotation is configured. Add one to the section rotations of the configuration, as described in
          docs/credentials.md.
        </Empty>
      )}
      <ul class="stack">
        {value?.rotations.map((rotation) => (
          <li key={rotation.name}>
            <Rotation rotation={rotation} onChanged={refresh} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Rotation({ rotation, onChanged }: { rotation: RotationReport; onChanged: () => void }): JSX.Element {
  const {
    name,
    state,
    strategy,
    type,
    credentialsId,
    rotationId,
    rotatedAt,
    lastUsedAt,
    references,
    nextStep,
    nextAt,
    reason,
    problem,
  } = rotation;
  return (
    <article
      aria-label={`Rotation ${name}`}
      {...(place.value.query.rotation === name ? { "aria-current": "true", ref: intoView } : {})}
    >
      <div class="panel-head">
        <h3>
          <CredentialLink kind="rotation" id={name} />{" "}
          <Badge state={state} word={state === "never" ? "not rotated yet" : state} />
        </h3>
        <div class="actions">
          <RotationButtons rotation={rotation} onChanged={onChanged} />
        </div>
      </div>
      <Steps rotation={rotation} />
      <CurrentProblemNotice problem={problem} />
      {problem === undefined && reason !== null && (
        <Notice kind={state === "failed" ? "bad" : "warn"}>
          <span class="prose">
            <Said text={reason} />
          </span>
        </Notice>
      )}
      <dl class="facts">
        <dt>Set</dt>
        <dd>
          {credentialsId === null ? "none yet" : <CredentialLink kind="set" id={credentialsId} />}{" "}
          <span class="quiet">{`${type}, ${strategy}`}</span>
        </dd>
        <dt>Secret created</dt>
        <dd>
          <Ago at={rotatedAt} none="unknown" /> {rotationId !== null && <Ref id={rotationId} />}
        </dd>
        <dt>Last used</dt>
        <dd>
          <Ago at={lastUsedAt} none="never, or unknown" />
        </dd>
        <dt>Referenced by</dt>
        <dd>
          <References references={references} />
        </dd>
        {nextStep !== null && nextStep !== "" && (
          <>
            <dt>Next</dt>
            <dd>
              <span class="prose">
                <Said text={nextStep} />
              </span>{" "}
              {nextAt !== null && <Ago at={nextAt} />}
            </dd>
          </>
        )}
      </dl>
    </article>
  );
}

function Steps({ rotation }: { rotation: RotationReport }): JSX.Element | null {
  const steps = isInProgress(rotation) ? stepsOf(rotation) : [];
  if (steps.length === 0) return null;
  const past = steps.filter(({ isPast }) => isPast);
  return (
    <>
      <p class="quiet">{`Step ${past.length} of ${steps.length}: ${past.at(-1)?.word}`}</p>
      <ol class="steps" aria-hidden="true">
        {steps.map(({ word, isPast }) => (
          <li key={word} class={isPast ? "is-past" : ""} title={word} />
        ))}
      </ol>
    </>
  );
}

function RotationButtons({ rotation, onChanged }: { rotation: RotationReport; onChanged: () => void }): JSX.Element {
  const { isBusy, act } = useAction();
  const { name, profile: of, credentialsId, waitsFor, before } = rotation;
  const post = async (action: "rotate" | "confirm"): Promise<string | undefined> => {
    const isMeant = await confirmed(
      action === "rotate"
        ? {
            title: `Rotate ${name}?`,
            text: `A new secret replaces the one in ${credentialsId ?? "a new Credential Set"} of the profile ${of}. It is delivered to its sinks first, then to the platform.`,
            yes: "Rotate",
            isDangerous: true,
          }
        : {
            title: `Is ${before ?? "the old set"} no longer referenced?`,
            text: `After a grace period without use, ${before ?? "the old Credential Set"} is deleted. Anything that still uses it then stops working.`,
            yes: "Not referenced",
            isDangerous: true,
          },
    );
    if (!isMeant) return undefined;
    await ask(`/v1/rotations/${encodeURIComponent(name)}/${action}`, { method: "POST" });
    onChanged();
    return action === "rotate" ? `Rotation of ${name} started.` : `The rotation ${name} continues.`;
  };
  return (
    <>
      {waitsFor === "confirmation" && (
        <Button
          kind="main"
          isSmall
          isBusy={isBusy}
          refusal={refusal("admin")}
          onPress={() => act(() => post("confirm"))}
        >
          Confirm
        </Button>
      )}
      {!isInProgress(rotation) && (
        <Button isSmall isBusy={isBusy} refusal={refusal("admin")} onPress={() => act(() => post("rotate"))}>
          Rotate
        </Button>
      )}
    </>
  );
}

export function References({ references }: { references: readonly Reference[] | null }): JSX.Element {
  if (references === null) return <>{"not reported by this deployment"}</>;
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
