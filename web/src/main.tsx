/** Entry point of the dashboard. */
import { render } from "preact";
import "./styles/tokens.css";
import "./styles/frame.css";
import "./styles/parts.css";
import "./styles/bars.css";
import "./styles/tables.css";
import "./styles/notices.css";
import "./styles/forms.css";
import "./styles/views.css";
import "./styles/explorer.css";
import { App } from "./app.tsx";
import { followAddress } from "./place.ts";
import { followToken } from "./session.ts";
import { followKeys } from "./shell/shortcuts.tsx";
import { followEvents } from "./stream.ts";
import { followTheme } from "./theme.ts";

followTheme();
followAddress();
followToken();
followEvents();
followKeys();

const host = document.getElementById("app");
if (host !== null) render(<App />, host);
