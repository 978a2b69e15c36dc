/**
 * Buttons that change something: an action that the role does not permit is disabled with the reason; a serious one
 * asks first; one in progress cannot be started twice. A message says how it ended.
 */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ask, type Query } from "../ask.ts";
import { problemFrom } from "../pure/problem.ts";
import type { Role } from "../pure/role.ts";
import { refusal } from "../session.ts";
import { Button, type ButtonProps } from "./form/button.tsx";
import { type Question, confirmed } from "./form/question.tsx";
import { say, sayProblem } from "./toasts.tsx";

/** @returns what to say at its end; undefined if nothing happened */
export type Work = () => Promise<string | undefined>;

interface Action {
  readonly isBusy: boolean;
  /** @param question to be confirmed first */
  readonly act: (work: Work, question?: Question) => void;
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const doIt = async (work: Work, question?: Question): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    try {
      const isMeant = question === undefined || (await confirmed(question));
      const said = isMeant ? await work() : undefined;
      if (said !== undefined) say(said);
    } catch (thrown) {
      sayProblem(problemFrom(thrown));
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, act: (work, question) => void doIt(work, question) };
}

/** `isBusy`: the action is in progress for another reason than this button. */
interface ActionProps extends Omit<ButtonProps, "onPress" | "refusal" | "type"> {
  readonly needs: Role;
  readonly question?: Question | undefined;
}

export function ActionButton(props: ActionProps & { work: Work }): JSX.Element {
  const { needs, question, work, isBusy: isUnderWay = false, ...button } = props;
  const { isBusy, act } = useAction();
  return (
    <Button {...button} isBusy={isBusy || isUnderWay} refusal={refusal(needs)} onPress={() => act(work, question)} />
  );
}

interface PostProps extends ActionProps {
  readonly path: string;
  readonly query?: Query;
  /** Message at the end. */
  readonly done: string;
  readonly onDone: () => void;
}

/** An action that is one request without a body, whose response does not matter. */
export function PostButton({ path, query = {}, done, onDone, ...action }: PostProps): JSX.Element {
  const post = async (): Promise<string> => {
    await ask(path, { method: "POST", query });
    onDone();
    return done;
  };
  return <ActionButton {...action} work={post} />;
}
