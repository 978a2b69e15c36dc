/** The current route, from the address; navigation is following a link. */
import { effect, signal } from "@preact/signals";
import { type Route, routeOf, titleOf } from "./pure/route.ts";

export const place = signal<Route>(routeOf(location.hash));

export function goTo(href: string): void {
  location.hash = href.slice(1);
}

/** Changes the query of the address without a new history entry, as filters do. */
export function replacePlace(href: string): void {
  history.replaceState(null, "", href);
  place.value = routeOf(href);
}

export function followAddress(): void {
  addEventListener("hashchange", () => {
    place.value = routeOf(location.hash);
    scrollTo(0, 0);
  });
  effect(() => {
    document.title = titleOf(place.value);
  });
}
