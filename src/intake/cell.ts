/**
 * Writes CSV cells. A cell that a spreadsheet would run as a formula is defused: a leading `'` makes it text (the OWASP
 * advice on CSV injection). That is text which begins, after any white space or quotes, with = + - @ or their full-width
 * forms, or with TAB, CR or LF. The same holds inside a cell after `;`, TAB, `|` and line breaks, since a reader that
 * splits lines there begins a cell of its own: `x;=1+1` is written as `x;'=1+1`. Plain negative numbers (`-12.5`) stay as
 * they are, since nothing in them can run; numbers with a plus are defused, since a spreadsheet would drop the plus.
 * Defusing twice changes nothing more, and the reader of keys and speed classes drops a leading apostrophe, so that a
 * results file can be sent in again as it is.
 */
const formula = /^(?!-[0-9]+(?:\.[0-9]+)?$)[\s"]*[=+\-@＝＋－＠]|^\s*[\t\r\n]/;
/** The separator that a formula follows; the white space between them holds no other one, so each is read once. */
const separatorOfFormula = /[;\t|\r\n](?!-[0-9]+(?:\.[0-9]+)?(?:$|[;\t\r\n]))(?=(?:[^\S\t\r\n]|")*[=+\-@＝＋－＠])/g;

/** The text as it may stand in a spreadsheet's cell. */
export function defused(text: string): string {
  const safe = text.replace(separatorOfFormula, "$&'");
  return formula.test(safe) ? `'${safe}` : safe;
}

/** One cell, defused, in quotes where it must be. */
export function csvCell(text: string): string {
  const safe = defused(text);
  return /[",;|\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line with its line break (LF); a line of one empty cell is written so that it does not read as a blank line. */
export function csvLine(cells: readonly string[]): string {
  return cells.length === 1 && cells[0] === "" ? '""\n' : `${cells.map(csvCell).join(",")}\n`;
}
