/**
 * The few browser types that playwright-core's types need. The whole DOM library is not included: it would let code of
 * the worker use names that Node does not have. web/tsconfig.json checks what the dashboard itself uses.
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
