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
import { credentialsText, rotationsText as text } from "../../strings/credentials.ts";
import { Said } from "../../parts/said.tsx";

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
    <Panel title={text.title}>
      <ProblemNotice problem={problem} what={text.failed} />
      {value === undefined && problem === undefined && <Waiting what={text.reading} />}
      {unknown.map(([name, reason]) => (
        <Notice key={name} kind="warn">
          {text.platformUnknown(name, reason)}
        </Notice>
      ))}
      {value?.rotations.length === 0 && <Empty command={text.command}>{text.none}</Empty>}
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
      aria-label={text.rotation(name)}
      {...(place.value.query.rotation === name ? { "aria-current": "true", ref: intoView } : {})}
    >
      <div class="panel-head">
        <h3>
          <CredentialLink kind="rotation" id={name} />{" "}
          <Badge state={state} word={state === "never" ? text.never : state} />
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
        <dt>{text.set}</dt>
        <dd>
          {credentialsId === null ? text.noSet : <CredentialLink kind="set" id={credentialsId} />}{" "}
          <span class="quiet">{`${type}, ${strategy}`}</span>
        </dd>
        <dt>{text.secretSince}</dt>
        <dd>
          <Ago at={rotatedAt} none={credentialsText.unknown} /> {rotationId !== null && <Ref id={rotationId} />}
        </dd>
        <dt>{credentialsText.lastUsed}</dt>
        <dd>
          <Ago at={lastUsedAt} none={credentialsText.neverUsed} />
        </dd>
        <dt>{credentialsText.referencedBy}</dt>
        <dd>
          <References references={references} />
        </dd>
        {nextStep !== null && nextStep !== "" && (
          <>
            <dt>{text.next}</dt>
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
      <p class="quiet">{text.step(past.length, steps.length, past.at(-1)?.word)}</p>
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
            title: text.rotateTitle(name),
            text: text.rotateWhat(credentialsId ?? text.newSet, of),
            yes: credentialsText.rotate,
            isDangerous: true,
          }
        : {
            title: text.confirmTitle(before),
            text: text.confirmWhat(before),
            yes: text.confirmYes,
            isDangerous: true,
          },
    );
    if (!isMeant) return undefined;
    await ask(`/v1/rotations/${encodeURIComponent(name)}/${action}`, { method: "POST" });
    onChanged();
    return action === "rotate" ? text.rotating(name) : text.confirmed(name);
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
          {text.confirm}
        </Button>
      )}
      {!isInProgress(rotation) && (
        <Button isSmall isBusy={isBusy} refusal={refusal("admin")} onPress={() => act(() => post("rotate"))}>
          {credentialsText.rotate}
        </Button>
      )}
    </>
  );
}

export function References({ references }: { references: readonly Reference[] | null }): JSX.Element {
  if (references === null) return <>{credentialsText.notReported}</>;
  if (references.length === 0) return <>{credentialsText.noReferences}</>;
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
      {more > 0 && credentialsText.moreReferences(more)}
    </>
  );
}
