/**
 * Asks for confirmation of an action that cannot be undone, naming its target and the count. One dialog for the page.
 */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isSameCount } from "../../pure/runs/operation.ts";
import { Button } from "./button.tsx";
import { TextField } from "./field.tsx";
import { grouped } from "../../pure/format.ts";

export interface Question {
  readonly title: string;
  readonly text: string;
  /** The verb on the confirm button. */
  readonly yes: string;
  readonly isDangerous?: boolean;
  /** Why it cannot be confirmed. */
  readonly refusal?: string | undefined;
  /** A number of SIMs that has to be typed before the button works. */
  readonly typed?: number | undefined;
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
  const [written, setWritten] = useState("");
  const now = asked.value;
  useEffect(() => {
    setWritten("");
    if (now !== undefined) dialog.current?.showModal();
  }, [now]);
  if (now === undefined) return null;
  const { question, answer } = now;
  const close = (word: "yes" | "no"): void => {
    // Closed before it is removed, so that the focus returns to its previous element.
    dialog.current?.close();
    asked.value = undefined;
    answer(word === "yes");
  };
  const { typed, yes, isDangerous = false, refusal } = question;
  const off =
    refusal ?? (typed === undefined || isSameCount(written, typed) ? undefined : `Type ${grouped(typed)} first.`);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="question-title"
      aria-describedby="question-text"
      onCancel={(event) => {
        event.preventDefault();
        close("no");
      }}
    >
      <h2 id="question-title">{question.title}</h2>
      <p id="question-text">{question.text}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (off === undefined) close("yes");
        }}
      >
        {refusal !== undefined && <p class="fault">{refusal}</p>}
        {typed !== undefined && (
          <TextField
            label="Number of SIMs"
            value={written}
            onValue={setWritten}
            hint={`Type ${grouped(typed)} to confirm.`}
            isRequired
          />
        )}
        <div class="actions">
          <Button onPress={() => close("no")}>Close</Button>
          <Button kind={isDangerous ? "danger" : "main"} refusal={off} type="submit">
            {yes}
          </Button>
        </div>
      </form>
    </dialog>
  );
}
