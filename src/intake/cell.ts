/**
 * Writes CSV cells. A cell that a spreadsheet would run as a formula is defused: a leading `'` makes it text (the OWASP
 * advice on CSV injection). That is text which begins, after any white space, with = + - @ or their full-width forms,
 * or with TAB, CR or LF. Plain negative numbers (`-12.5`) stay as they are, since nothing in them can run; numbers with
 * a plus are defused, since a spreadsheet would drop the plus. The reader of keys drops the apostrophe again.
 */
const formula = /^\s*[=+\-@＝＋－＠]|^\s*[\t\r\n]/;
const negativeNumber = /^-[0-9]+(\.[0-9]+)?$/;

/** The text as it may stand in a spreadsheet's cell; defusing twice changes nothing more. */
export function defused(text: string): string {
  return formula.test(text) && !negativeNumber.test(text) ? `'${text}` : text;
}

/** One cell, defused, in quotes where it must be. */
export function csvCell(text: string): string {
  const safe = defused(text);
  return /[",;\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line with its line break (LF); a line of one empty cell is written so that it does not read as a blank line. */
export function csvLine(cells: readonly string[]): string {
  return cells.length === 1 && cells[0] === "" ? '""\n' : `${cells.map(csvCell).join(",")}\n`;
}
