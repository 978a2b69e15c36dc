/** Sign-in with a token. The address does not change, so that signing in leads to the requested page. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../parts/form/button.tsx";
import { Form, TextField, Tick } from "../parts/form/field.tsx";
import { Brand } from "../parts/icon.tsx";
import { Notice, ProblemNotice } from "../parts/notice.tsx";
import { Problem, problemFrom } from "../pure/problem.ts";
import { openSession, session, sessionProblem } from "../session.ts";
import { dropToken, keepToken, signedOutBecause, token } from "../token.ts";

export function SignIn(): JSX.Element {
  return (
    <div class="sign-in">
      <main>
        <Brand />
        <div class="panel">{token.value === undefined ? <TokenForm /> : <Resuming />}</div>
      </main>
    </div>
  );
}

/** A token is stored, and the server was not reached yet. */
function Resuming(): JSX.Element {
  return (
    <div class="form">
      <h1>Signing in …</h1>
      <ProblemNotice problem={sessionProblem.value} />
      {sessionProblem.value !== undefined && <Button onPress={() => dropToken()}>Use another token</Button>}
    </div>
  );
}

function TokenForm(): JSX.Element {
  const [value, setValue] = useState("");
  const [isKept, setKept] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>();
  const signIn = async (): Promise<void> => {
    const given = value.trim();
    if (isBusy) return;
    if (!/^[\x21-\x7E]+$/.test(given)) {
      setProblem(new Problem(401, "Paste the token as it was printed: one word, without spaces."));
      return;
    }
    setBusy(true);
    try {
      session.value = await openSession(given);
      keepToken(given, isKept ? "browser" : "tab");
    } catch (thrown) {
      setProblem(problemFrom(thrown));
    } finally {
      setBusy(false);
    }
  };
  const because = signedOutBecause.value;
  return (
    <Form class="form" onSubmit={() => void signIn()}>
      <h1>Sign in</h1>
      {because !== undefined && problem === undefined && <Notice kind="warn">{because}</Notice>}
      <ProblemNotice problem={problem} />
      <TextField
        label="Token"
        type="password"
        value={value}
        onValue={setValue}
        autocomplete="current-password"
        hint="The worker logs the path of its admin token file at startup."
      />
      <Tick label="Keep me signed in on this device" isOn={isKept} onChange={setKept} />
      <div class="actions">
        <Button kind="main" type="submit" isBusy={isBusy}>
          {isBusy ? "Signing in …" : "Sign in"}
        </Button>
      </div>
      <p class="hint">
        An admin creates more tokens with: <code>simfleet tokens create --name anna --role operator</code>
      </p>
    </Form>
  );
}
