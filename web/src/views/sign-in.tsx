/** Sign-in with a token. The address does not change, so that signing in leads to the requested page. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { TextField, Tick } from "../parts/field.tsx";
import { Brand } from "../parts/icon.tsx";
import { Notice, ProblemNotice } from "../parts/notice.tsx";
import { Problem, problemFrom } from "../pure/problem.ts";
import { openSession, session, sessionProblem } from "../session.ts";
import { signInText as text } from "../strings/shell.ts";
import { dropToken, keepToken, signedOutBecause, token } from "../token.ts";

export function SignIn(): JSX.Element {
  return (
    <div class="sign-in">
      <main>
        <Brand />
        <div class="panel">{token.value === undefined ? <Form /> : <Resuming />}</div>
      </main>
    </div>
  );
}

/** A token is stored, and the server was not reached yet. */
function Resuming(): JSX.Element {
  return (
    <div class="form">
      <h1>{text.busy}</h1>
      <ProblemNotice problem={sessionProblem.value} />
      {sessionProblem.value !== undefined && <Button onPress={() => dropToken()}>{text.otherToken}</Button>}
    </div>
  );
}

function Form(): JSX.Element {
  const [value, setValue] = useState("");
  const [isKept, setKept] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>();
  const signIn = async (): Promise<void> => {
    const given = value.trim();
    if (isBusy) return;
    if (!/^[\x21-\x7E]+$/.test(given)) {
      setProblem(new Problem(401, text.notAToken));
      return;
    }
    setBusy(true);
    try {
      session.value = await openSession(given);
      keepToken(given, isKept);
    } catch (thrown) {
      setProblem(problemFrom(thrown));
    } finally {
      setBusy(false);
    }
  };
  const because = signedOutBecause.value;
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void signIn();
      }}
    >
      <h1>{text.title}</h1>
      {because !== undefined && problem === undefined && <Notice kind="warn">{because}</Notice>}
      <ProblemNotice problem={problem} />
      <TextField
        label={text.token}
        type="password"
        value={value}
        onValue={setValue}
        autocomplete="current-password"
        hint={text.tokenHint}
      />
      <Tick label={text.keep} isOn={isKept} onChange={setKept} />
      <div class="actions">
        <Button kind="main" type="submit" isBusy={isBusy}>
          {isBusy ? text.busy : text.title}
        </Button>
      </div>
      <p class="hint">
        {text.others} <code>{text.othersCommand}</code>
      </p>
    </form>
  );
}
