/** The layout of the page and its current view. Without a session, every address shows the sign-in form. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Palette } from "./shell/palette.tsx";
import { QuestionDialog } from "./parts/form/question.tsx";
import { Notice } from "./parts/notice.tsx";
import { Toasts } from "./parts/toasts.tsx";
import { View } from "./parts/view.tsx";
import { place } from "./place.ts";
import { viewTitles } from "./pure/route.ts";
import { profile, session } from "./session.ts";
import { ShortcutList } from "./shell/shortcuts.tsx";
import { Side } from "./shell/side.tsx";
import { Activity } from "./views/activity/activity.tsx";
import { Credentials } from "./views/credentials.tsx";
import { FrozenNotice } from "./views/schedules/freezes.tsx";
import { NewRun } from "./views/new-run/new-run.tsx";
import { Overview } from "./views/overview.tsx";
import { Quota } from "./views/quota.tsx";
import { RunView } from "./views/runs/run.tsx";
import { Runs } from "./views/runs/runs.tsx";
import { Schedules } from "./views/schedules/schedules.tsx";
import { SimView } from "./views/sims/sim.tsx";
import { Sims } from "./views/sims/sims.tsx";
import { SignIn } from "./views/sign-in.tsx";

export function App(): JSX.Element {
  return (
    <>
      {session.value === undefined ? <SignIn /> : <Frame />}
      {session.value !== undefined && <Palette />}
      {session.value !== undefined && <ShortcutList />}
      <QuestionDialog />
      <Toasts />
    </>
  );
}

function Frame(): JSX.Element {
  const { view, id } = place.value;
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    // After a navigation within the page, focus moves to the new view; a fresh page starts at its top.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [view, id]);
  return (
    <div class="frame">
      <button type="button" class="to-content" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Side />
      <main ref={main} tabIndex={-1} key={profile.value}>
        <FrozenNotice />
        <Current />
      </main>
    </div>
  );
}

function Current(): JSX.Element {
  const { view, id, query } = place.value;
  switch (view) {
    case "overview":
      return <Overview />;
    case "sims":
      return id === undefined ? <Sims /> : <SimView key={id} sim={id} of={query.profile} />;
    case "new":
      return <NewRun key={query.where} where={query.where ?? ""} />;
    case "runs":
      return id === undefined ? <Runs /> : <RunView key={id} runId={id} />;
    case "quota":
      return <Quota />;
    case "credentials":
      return <Credentials />;
    case "schedules":
      return <Schedules />;
    case "activity":
      return <Activity />;
    case "missing":
      return (
        <View title={viewTitles.missing}>
          <Notice kind="warn">
            <b>There is no page at this address</b>
            <span>Check the address, or choose a page of the navigation.</span>
          </Notice>
        </View>
      );
  }
}
