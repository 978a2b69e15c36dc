/** The value of a JSON text; undefined for another text, since an error would quote a piece of it. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
