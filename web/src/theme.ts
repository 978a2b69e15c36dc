/** Dark or light: the system setting, unless the user chose one on this device. */
import { effect, signal } from "@preact/signals";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export const themesText: Readonly<Record<Theme, string>> = {
  system: "System colors",
  light: "Light colors",
  dark: "Dark colors",
};

const place = "simfleet.theme";
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

export const theme = signal<Theme>(themes.find((name) => name === localStorage.getItem(place)) ?? "system");
const isSystemDark = signal(systemIsDark.matches);

export function chooseTheme(name: Theme): void {
  localStorage.setItem(place, name);
  theme.value = name;
}

export function followTheme(): void {
  systemIsDark.addEventListener("change", ({ matches }) => (isSystemDark.value = matches));
  effect(() => {
    const isDark = theme.value === "dark" || (theme.value === "system" && isSystemDark.value);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
  });
}
