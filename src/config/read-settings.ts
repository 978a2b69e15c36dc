/**
 * Finds the value of each setting. An environment variable overrides the file. In both, a secret is either the value
 * itself or the path of a file. Problems are collected and never thrown. An invalid setting counts as present, so that
 * it is not also reported as missing.
 */
import type { Problem } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { type settings, placesOf, type SettingId, settingOf, type ValueOf } from "./schema.ts";
import type { Setting } from "./setting.ts";
import { readSecretFile } from "./secrets/secret-file.ts";
import { type Tree, valueAt } from "./file/yaml-file.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

type SecretId = { [Id in SettingId]: (typeof settings)[Id] extends { readonly secret: true } ? Id : never }[SettingId];
type DefaultedId = {
  [Id in SettingId]: (typeof settings)[Id] extends { readonly default: unknown } ? Id : never;
}[SettingId];

/** Where something was found: the path or variable that a message names. */
interface Found {
  readonly where: string;
  readonly raw: unknown;
  readonly isText: boolean;
  readonly isFile: boolean;
}

export class Values {
  readonly #tree: Tree;
  readonly #env: Environment;
  readonly #profile: string;
  readonly #problems: Problem[];

  /** @param from `env` is empty for a profile that is not the selected one, since the variables are not meant for it */
  constructor(from: { tree: Tree; env: Environment; profile: string; problems: Problem[] }) {
    this.#tree = from.tree;
    this.#env = from.env;
    this.#profile = from.profile;
    this.#problems = from.problems;
  }

  /** A checked value, or undefined where none was given or it is faulty. */
  get<Id extends Exclude<SettingId, SecretId>>(id: Id): ValueOf<Id> | undefined {
    return this.#read(settingOf(id))?.value as ValueOf<Id> | undefined;
  }

  getOrDefault<Id extends Exclude<DefaultedId, SecretId>>(id: Id): ValueOf<Id> {
    return this.get(id) ?? (settingOf(id).default as ValueOf<Id>);
  }

  getSecret(id: SecretId): Secret | undefined {
    const read = this.#read(settingOf(id));
    return read === undefined ? undefined : new Secret(read.value as string);
  }

  /** The file that a secret is given by. */
  fileOf(id: SecretId): string | undefined {
    const found = this.#find(settingOf(id)).at(0);
    return found?.isFile === true && typeof found.raw === "string" ? found.raw : undefined;
  }

  /** Where the setting is given, be it faulty or not; undefined where it is not. */
  whereOf(id: SettingId): string | undefined {
    return this.#find(settingOf(id)).at(0)?.where;
  }

  #read(setting: Setting): { readonly value: unknown } | undefined {
    const [found, other] = this.#find(setting);
    if (found === undefined) return undefined;
    if (other !== undefined) {
      this.#problems.push({ where: found.where, message: `is given beside ${other.where}. Keep one of them.` });
      return undefined;
    }
    if (found.isFile) return this.#readFile(setting, found);
    const raw = found.isText && setting.kind.fromText ? setting.kind.fromText(found.raw as string) : found.raw;
    return this.#check(setting, { where: found.where, raw });
  }

  #readFile(setting: Setting, { where, raw }: Found): { readonly value: unknown } | undefined {
    const file = typeof raw === "string" ? readSecretFile(raw) : { fault: "must be the path of a file." };
    if ("secret" in file) return this.#check(setting, { where, raw: file.secret });
    this.#problems.push({ where, message: file.fault });
    return undefined;
  }

  #check(setting: Setting, { where, raw }: { where: string; raw: unknown }): { readonly value: unknown } | undefined {
    const checked = setting.kind.schema.safeParse(raw);
    if (checked.success) return { value: checked.data };
    const isNumberForText = typeof raw === "number" && typeof setting.kind.fromText !== "function";
    const got = setting.secret || setting.hidden ? "" : `; it is ${shown(raw)}`;
    const quotes = isNumberForText ? " Put it in quotes." : "";
    this.#problems.push({ where, message: `must be ${setting.kind.expects}${got}.${quotes}` });
    return undefined;
  }

  /** All ways in which the setting is given by the stronger source that gives it at all. */
  #find(setting: Setting): readonly Found[] {
    const places = placesOf(setting);
    const inEnvironment = places.flatMap(({ variable }, at): Found[] => {
      const raw = this.#env[variable];
      return raw === undefined || raw === "" ? [] : [{ where: variable, raw, isText: true, isFile: at === 1 }];
    });
    if (inEnvironment.length > 0) return inEnvironment;
    return places.flatMap(({ path }, at): Found[] => {
      const where = path.replace("<name>", this.#profile);
      const raw = valueAt(this.#tree, where);
      return raw === undefined ? [] : [{ where, raw, isText: false, isFile: at === 1 }];
    });
  }
}

/** A value for a message; long ones cut, and what stands before the last @ of an address left out. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  const safe = text.replace(/:\/\/.*@/, "://…@");
  return safe.length > 80 ? `${safe.slice(0, 80)}…` : safe;
}
