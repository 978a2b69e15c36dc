/** A value that this browser keeps, such as chosen columns; what cannot be read is as if it were absent. */
import { useState } from "preact/hooks";

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- whoever stores a value knows its type
function readStored<T>(key: string): T | undefined {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? "null") as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}

function writeStored(key: string, value: unknown): void {
  localStorage.setItem(key, JSON.stringify(value));
}

/** As state of a component. */
export function useStored<T>(key: string): [T | undefined, (value: T) => void] {
  const [value, setValue] = useState<T | undefined>(() => readStored<T>(key));
  const put = (next: T): void => {
    writeStored(key, next);
    setValue(next);
  };
  return [value, put];
}
