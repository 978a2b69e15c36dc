/** What is wrong with the configuration, and where its settings are given. */
import { ConfigError, type Problem, SimfleetError } from "#core/errors.ts";
import { suggestion } from "#core/suggest.ts";

interface Place {
  /** The path in the file, or the variable. */
  readonly where: string;
  /** The file that the secret is in. */
  readonly file?: string | undefined;
}

export class Report {
  readonly problems: Problem[] = [];
  /** What works but not as it may have been meant. */
  readonly warnings: Problem[] = [];
  readonly #places = new Map<string, Place>();

  /** Records the place of a setting, be its value valid or not. */
  found(path: string, place: Place): void {
    this.#places.set(path, place);
  }

  /** The path or variable by which a setting with a variable is given; undefined where it is not. */
  whereOf(path: string): string | undefined {
    return this.#places.get(path)?.where;
  }

  /** The file that gives a secret. */
  fileOf(path: string): string | undefined {
    return this.#places.get(path)?.file;
  }

  isGiven(path: string): boolean {
    return this.#places.has(path);
  }

  /** Adds a problem of the setting at this path. */
  fault(path: string, message: string): void {
    this.problems.push({ where: this.#shown(path), message });
  }

  warn(path: string, message: string): void {
    this.warnings.push({ where: this.#shown(path), message });
  }

  /** A path within a section that a variable gives as a whole is shown with the variable. */
  #shown(path: string): string {
    for (let at = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf(".")))) {
      const where = this.whereOf(at);
      if (where !== undefined) return at === path || where === at ? where : `${where}, ${path}`;
    }
    return path;
  }

  /** All problems. One variable can feed two settings, so that its problem is found twice. */
  error(): ConfigError {
    return new ConfigError([
      ...new Map(this.problems.map((problem) => [`${problem.where}: ${problem.message}`, problem])).values(),
    ]);
  }

  /** Adds a problem if the setting at this path names none of the known profiles. */
  checkProfile(path: string, profile: string, known: readonly string[]): void {
    if (!known.includes(profile)) this.fault(path, `There is no profile ${profile}.${suggestion(profile, known)}`);
  }
}

/** What `make` returns; undefined where it throws a SimfleetError, whose message goes to `fault`. */
export function orFault<T>(make: () => T, fault: (message: string) => void): T | undefined {
  try {
    return make();
  } catch (thrown) {
    if (!(thrown instanceof SimfleetError)) throw thrown;
    fault(thrown.message);
    return undefined;
  }
}
