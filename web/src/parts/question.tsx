/**
 * Asks for confirmation of an action that cannot be undone, naming its target and the count. One dialog for the page.
 */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";

interface Question {
  readonly title: string;
  readonly text: string;
  /** The verb on the confirm button. */
  readonly yes: string;
  readonly isDangerous?: boolean;
}

const asked = signal<{ readonly question: Question; readonly answer: (yes: boolean) => void } | undefined>(undefined);

/** Resolves with whether the user confirmed; Esc and "Close" mean no. */
export function confirmed(question: Question): Promise<boolean> {
  return new Promise((resolve) => {
    asked.value = { question, answer: resolve };
  });
}

export function QuestionDialog(): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const now = asked.value;
  useEffect(() => {
    if (now !== undefined) dialog.current?.showModal();
  }, [now]);
  if (now === undefined) return null;
  const { question, answer } = now;
  const close = (yes: boolean): void => {
    // Closed before it is removed, so that the focus returns to its previous element.
    dialog.current?.close();
    asked.value = undefined;
    answer(yes);
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby="question-title"
      aria-describedby="question-text"
      onCancel={(event) => {
        event.preventDefault();
        close(false);
      }}
    >
      <h2 id="question-title">{question.title}</h2>
      <p id="question-text">{question.text}</p>
      <div class="actions">
        <Button onPress={() => close(false)}>Close</Button>
        <Button kind={question.isDangerous === true ? "danger" : "main"} onPress={() => close(true)}>
          {question.yes}
        </Button>
      </div>
    </dialog>
  );
}
