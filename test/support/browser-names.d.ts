/**
 * The few names of the browser that playwright-core's types need. The whole DOM library is not taken in: it would let
 * code of the worker name things that Node does not have. What the dashboard itself uses is checked by web/tsconfig.json.
 */
interface Node {
  readonly nodeType: number;
}
interface HTMLElement extends Node {
  readonly tagName: string;
}
interface SVGElement extends Node {
  readonly tagName: string;
}
interface HTMLElementTagNameMap {
  readonly input: HTMLElement;
}
