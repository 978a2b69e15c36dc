import type { Kind } from "./value-types.ts";

/** One line of the table of settings. */
export interface Setting<T = unknown> {
  /** `<name>` stands for the name of a profile. */
  readonly path: string;
  readonly variable: string;
  readonly kind: Kind<T>;
  readonly about: string;
  readonly default?: T;
  /** In words, where the default is no constant. */
  readonly defaultAbout?: string;
  readonly secret?: true;
  /** No message quotes the value, since a part of it may be secret. */
  readonly hidden?: true;
}
