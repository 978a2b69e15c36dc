/** Finds texts for users in a source file: those that stand there instead of in a file of strings. */
import { type ESTree, parseSync } from "vite";

/** What is a text, where it depends on the surface. */
export interface TextRules {
  /** Matches a text wherever it stands. */
  readonly prose: RegExp;
  /** Texts that look like prose and are none. */
  readonly technical: ReadonlySet<string>;
  /** Whether a part of the file has no texts, whatever it contains. */
  readonly isCode: (node: ESTree.Node) => boolean;
  /** The parts of a node that users see whatever they contain. @param isShown whether they see the node */
  readonly shownParts: (node: ESTree.Node, isShown: boolean) => readonly (ESTree.Node | null | undefined)[];
}

/** Each text of a file, with its line. */
export function ownTexts(path: string, source: string, rules: TextRules): string[] {
  const found: string[] = [];
  const visit = (node: ESTree.Node, isShown: boolean): void => {
    if (isNoText(node) || rules.isCode(node)) return;
    for (const { text, start } of textsIn(node)) {
      const isText = isShown ? /[A-Za-z]/.test(text) : rules.prose.test(text) && !rules.technical.has(text.trim());
      const at = start + text.search(/\S/);
      if (isText) found.push(`${path}:${source.slice(0, at).split("\n").length} ${text.trim()}`);
    }
    const shown = new Set([...rules.shownParts(node, isShown), ...(isShown ? partsOf(node) : [])]);
    const children = Object.entries(node).flatMap(([name, child]: [string, unknown]) =>
      name === "key" ? [] : [child].flat().filter(isNode),
    );
    for (const child of children) visit(child, shown.has(child));
  };
  visit(parseSync(path, source).program, false);
  return found;
}

/** Types, names of files, and what a value is compared with. */
function isNoText(node: ESTree.Node): boolean {
  return (
    node.type === "ImportDeclaration" ||
    node.type === "ImportExpression" ||
    node.type === "TSLiteralType" ||
    (node.type === "BinaryExpression" && node.operator !== "+")
  );
}

function textsIn(node: ESTree.Node): { readonly text: string; readonly start: number }[] {
  if (node.type === "TemplateLiteral")
    return node.quasis.map(({ value, start }) => ({ text: value.cooked ?? value.raw, start }));
  const isText = node.type === "JSXText" || node.type === "Literal";
  return isText && typeof node.value === "string" ? [{ text: node.value, start: node.start }] : [];
}

/** The parts of an expression that users see if they see the expression. */
function partsOf(node: ESTree.Node): ESTree.Node[] {
  if (node.type === "JSXExpressionContainer" || node.type === "TSAsExpression") return [node.expression];
  if (node.type === "ConditionalExpression") return [node.consequent, node.alternate];
  if (node.type === "LogicalExpression") return node.operator === "&&" ? [node.right] : [node.left, node.right];
  if (node.type === "BinaryExpression") return [node.left, node.right];
  return node.type === "TemplateLiteral" ? node.expressions : [];
}

function isNode(value: unknown): value is ESTree.Node {
  return typeof value === "object" && value !== null && "type" in value;
}
