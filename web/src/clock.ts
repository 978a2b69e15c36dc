/** The current time, updated once a second while the page is visible: for ages and countdowns. */
import { signal } from "@preact/signals";

export const nowMs = signal(Date.now());

setInterval(() => {
  if (!document.hidden) nowMs.value = Date.now();
}, 1_000);
document.addEventListener("visibilitychange", () => {
  nowMs.value = Date.now();
});
