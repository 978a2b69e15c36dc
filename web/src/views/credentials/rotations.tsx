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
import { counted } from "../../pure/format.ts";
import { isInProgress, stepsOf } from "../../pure/rotation-steps.ts";
import type { Reference, RotationReport } from "../../pure/shapes.ts";
import { profile, refusal } from "../../session.ts";

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
      <ProblemNotice problem={problem} what="The rotations could not be read" />
      {value === undefined && problem === undefined && <Waiting what="the rotations" />}
      {unknown.map(([name, reason]) => (
        <Notice key={name} kind="warn">
          What the platform knows of {name} is missing: {reason}
        </Notice>
      ))}
      {value?.rotations.length === 0 && (
        <Empty command="simfleet credentials rotate NAME">
          No rotation is configured. Add one under `rotations` in the configuration: see docs/credentials.md.
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
      {problem === undefined && reason !== null && <Notice kind={state === "failed" ? "bad" : "warn"}>{reason}</Notice>}
      <dl class="facts">
        <dt>Set</dt>
        <dd>
          {credentialsId === null ? "none yet" : <CredentialLink kind="set" id={credentialsId} />}{" "}
          <span class="quiet">{`${type}, ${strategy}`}</span>
        </dd>
        <dt>Rotated</dt>
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
              <span class="prose">{nextStep}</span> {nextAt !== null && <Ago at={nextAt} />}
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
      <p class="quiet">
        Step {past.length} of {steps.length}: {past.at(-1)?.word}
      </p>
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
            title: `Is ${before ?? "the old set"} unused?`,
            text: `If you confirm, ${before ?? "the old Credential Set"} is deleted after it was unused for its grace period. Anything that still uses it stops working.`,
            yes: "Not referenced",
            isDangerous: true,
          },
    );
    if (!isMeant) return undefined;
    await ask(`/v1/rotations/${encodeURIComponent(name)}/${action}`, { method: "POST" });
    onChanged();
    return action === "rotate" ? `${name} is rotating.` : `${name} goes on.`;
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
  if (references === null) return <>not reported by this deployment</>;
  if (references.length === 0) return <>nothing</>;
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
