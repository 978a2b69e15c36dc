/**
 * Writes CSV cells. A cell that a spreadsheet would run as a formula is escaped: a leading `'` turns it into text
 * (OWASP guidance on CSV injection). This applies to text that starts, after any white space or quotes, with = + - @ or
 * their full-width forms, or with TAB, CR or LF. It also applies inside a cell after `;`, TAB, `|` and line breaks,
 * since a reader that splits lines there starts a new cell: `x;=1+1` is written as `x;'=1+1`. Plain negative numbers
 * (`-12.5`) are unchanged, since nothing in them can run; numbers with a plus are escaped, since a spreadsheet would
 * drop the plus. Escaping twice changes nothing more, and the reader of keys and speed classes strips a leading
 * apostrophe, so that a results file can be submitted again unmodified.
 */
const formula = /^(?!-[0-9]+(?:\.[0-9]+)?$)[\s"]*[=+\-@＝＋－＠]|^\s*[\t\r\n]/;
/**
 * A separator followed by a formula; the white space between them contains no other separator, so each is read once.
 */
const separatorOfFormula = /[;\t|\r\n](?!-[0-9]+(?:\.[0-9]+)?(?:$|[;\t\r\n]))(?=(?:[^\S\t\r\n]|")*[=+\-@＝＋－＠])/g;

/** The text, safe for a spreadsheet cell. */
export function defused(text: string): string {
  const safe = text.replace(separatorOfFormula, "$&'");
  return formula.test(safe) ? `'${safe}` : safe;
}

/** One cell, escaped, and quoted if necessary. */
export function csvCell(text: string): string {
  const safe = defused(text);
  return /[",;|\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line with its line break (LF); a line of one empty cell is quoted, so that it is not read as a blank line. */
export function csvLine(cells: readonly string[]): string {
  return cells.length === 1 && cells[0] === "" ? '""\n' : `${cells.map(csvCell).join(",")}\n`;
}
