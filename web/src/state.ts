/** State of components that this browser keeps, and state that waits until a user pauses. */
import { useEffect, useState } from "preact/hooks";

/** A value such as chosen columns; what cannot be read is as if it were absent. */
export function useStored<T>(key: string): [T | undefined, (value: T) => void] {
  const [value, setValue] = useState<T | undefined>(() => {
    try {
      return (JSON.parse(localStorage.getItem(key) ?? "null") as T | null) ?? undefined;
    } catch {
      return undefined;
    }
  });
  const put = (next: T): void => {
    localStorage.setItem(key, JSON.stringify(next));
    setValue(next);
  };
  return [value, put];
}

/** A value once it has not changed for a while. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), ms);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
