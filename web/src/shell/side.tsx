/** Navigation, and what all views share: profile, connection, theme, signed-in user. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { nowMs } from "../clock.ts";
import { Button } from "../parts/form/button.tsx";
import { Select } from "../parts/form/field.tsx";
import { Brand, Icon } from "../parts/icon.tsx";
import { isPaletteOpen } from "./palette.tsx";
import { place } from "../place.ts";
import { hrefOf, mainViews, viewTitles } from "../pure/route.ts";
import { chooseProfile, profile, session } from "../session.ts";
import { showShortcuts } from "./shortcuts.tsx";
import { connection } from "../stream.ts";
import { themesText, chooseTheme, theme, themes } from "../theme.ts";
import { dropToken } from "../token.ts";

const connectionText = { opening: "Connecting …", live: "Live", lost: "Connection lost, trying again" } as const;

export function Side(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { view, id } = place.value;
  useEffect(() => setOpen(false), [view, id]);
  return (
    <header class="side">
      <div class="side-top">
        <Brand />
        <button
          type="button"
          class="button is-plain menu-button"
          aria-expanded={isOpen}
          aria-controls="side-fold"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="menu" /> Menu
        </button>
      </div>
      <div id="side-fold" class={`side-fold ${isOpen ? "is-open" : ""}`}>
        <Button onPress={() => (isPaletteOpen.value = true)}>
          <Icon name="search" size={16} />
          Search
          <kbd>Ctrl K</kbd>
        </Button>
        <ProfileSwitch />
        <Navigation />
        <div class="side-foot">
          <ConnectionState />
          <Select
            isCompact
            label="Colors"
            value={theme.value}
            options={themes.map((value) => ({ value, text: themesText[value] }))}
            onValue={chooseTheme}
          />
          <WhoIsThis />
        </div>
      </div>
    </header>
  );
}

function Navigation(): JSX.Element {
  const { view: shown } = place.value;
  const current = shown === "new" ? "runs" : shown;
  return (
    <nav aria-label="Views">
      <ul>
        {mainViews.map((view) => (
          <li key={view}>
            <a href={hrefOf(view)} aria-current={current === view ? "page" : undefined}>
              <Icon name={view} />
              {viewTitles[view]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function ProfileSwitch(): JSX.Element | null {
  const profiles = session.value?.profiles ?? [];
  if (profiles.length < 2) return null;
  return (
    <Select
      isCompact
      label="Profile"
      value={profile.value}
      options={profiles.map(({ name }) => ({ value: name, text: `Profile ${name}` }))}
      onValue={chooseProfile}
    />
  );
}

function ConnectionState(): JSX.Element {
  const now = connection.value;
  const isLost = now.state === "lost";
  const seconds = isLost ? Math.max(0, Math.ceil((now.retryAtMs - nowMs.value) / 1_000)) : 0;
  return (
    <div>
      <span class={`badge ${isLost ? "is-bad" : now.state === "live" ? "is-good" : ""}`} role="status">
        <Icon name={isLost ? "warn" : "activity"} size={13} />
        {connectionText[now.state]}
      </span>
      {seconds > 0 && <div class="hint">{`in ${seconds} s`}</div>}
    </div>
  );
}

function WhoIsThis(): JSX.Element | null {
  const me = session.value?.me;
  if (me === undefined) return null;
  return (
    <div>
      <div>
        <b>{me.name}</b>
        {`, ${me.role}`}
      </div>
      <div class="hint">{`simfleet ${me.version}`}</div>
      {me.configuration !== null && <div class="hint">{`configuration ${me.configuration}`}</div>}
      <a href="/docs">API reference</a>
      <div class="more">
        <Button isSmall onPress={() => dropToken()}>
          Sign out
        </Button>
        <Button isSmall kind="plain" onPress={showShortcuts}>
          Shortcuts
        </Button>
      </div>
    </div>
  );
}
