/**
 * Renders templates with variables, `moment`, `{{#if X}}…{{else}}…{{/if}}` and `{{#unless X}}`.
 * Variables are texts, so there is no `each`, and no prototype of an object can be reached. Work
 * and output are limited.
 */
import { parseTemplate } from '@monitor/shared/templates/parse-template.ts';
import { inText, type Place } from '@monitor/shared/templates/places.ts';
import { formatMoment } from '@monitor/shared/templates/relative-time.ts';
import { TemplateError } from '@monitor/shared/templates/template-error.ts';
import { valueOf, type TemplateValues } from './variables.ts';

const maxOutputLength = 1_048_576;
const maxDepth = 100;

interface Walk {
  readonly place: Place;
  readonly values: TemplateValues;
  /** Unknown names. */
  readonly unknown: Set<string>;
  output: string;
}

export interface Rendered {
  text: string;
  /** Unknown names, each once. */
  unknown: string[];
}

function tooDeep(depth: number): void {
  if (depth > maxDepth) throw new TemplateError(`it is nested more than ${maxDepth} deep`);
}

function append(walk: Walk, text: string): void {
  if (walk.output.length + text.length > maxOutputLength) {
    throw new TemplateError(`it would become longer than ${maxOutputLength} characters`);
  }
  walk.output += text;
}

function isPath(node: hbs.AST.Expression): node is hbs.AST.PathExpression {
  return node.type === 'PathExpression';
}

function callHelper(
  node: { path: hbs.AST.Expression; params: hbs.AST.Expression[]; hash?: hbs.AST.Hash },
  walk: Walk,
  depth: number,
): string {
  const name = isPath(node.path) ? node.path.original : 'a literal';
  if (name !== 'moment') throw new TemplateError(`there is no helper "${name}", only "moment"`);
  const format = node.hash?.pairs.find(({ key }) => key === 'format');
  const params = format === undefined ? node.params : [...node.params, format.value];
  return formatMoment(
    params.map((param) => evaluate(param, walk, depth + 1)),
    walk.values.now(),
  );
}

function evaluate(node: hbs.AST.Expression, walk: Walk, depth: number): string {
  tooDeep(depth);
  if (isPath(node)) {
    const value = valueOf(node.original, walk.values);
    if (value === undefined) walk.unknown.add(node.original);
    return value ?? '';
  }
  if (node.type === 'SubExpression') return callHelper(node as hbs.AST.SubExpression, walk, depth);
  return 'value' in node ? String(node.value) : '';
}

function mustache(node: hbs.AST.MustacheStatement, walk: Walk): void {
  const isCall =
    node.params.length > 0 ||
    (isPath(node.path) && node.path.original === 'moment' && !walk.values.variables.has('moment'));
  const value = isCall ? callHelper(node, walk, 0) : evaluate(node.path, walk, 0);
  append(walk, node.escaped ? walk.place.escaped(value, walk.output) : value);
}

function block(node: hbs.AST.BlockStatement, walk: Walk, depth: number): void {
  const name = node.path.original;
  const [condition] = node.params;
  if ((name !== 'if' && name !== 'unless') || condition === undefined || node.params.length > 1) {
    throw new TemplateError(
      `there is no block "${name}", only "if" and "unless" with one variable`,
    );
  }
  const value = isPath(condition)
    ? (valueOf(condition.original, walk.values) ?? '')
    : evaluate(condition, walk, depth);
  const isChosen = (value !== '') === (name === 'if');
  // Handlebars omits the missing branch from the tree.
  const branch = (isChosen ? node.program : node.inverse) as hbs.AST.Program | undefined;
  if (branch !== undefined) program(branch, walk, depth + 1);
}

function program({ body }: hbs.AST.Program, walk: Walk, depth: number): void {
  tooDeep(depth);
  for (const node of body) {
    switch (node.type) {
      case 'ContentStatement':
        append(walk, walk.place.literal((node as hbs.AST.ContentStatement).value));
        break;
      case 'MustacheStatement':
        mustache(node as hbs.AST.MustacheStatement, walk);
        break;
      case 'BlockStatement':
        block(node as hbs.AST.BlockStatement, walk, depth);
        break;
      case 'CommentStatement':
        break;
      default:
        throw new TemplateError(`partials and decorators are not supported (${node.type})`);
    }
  }
}

/**
 * Renders a template for its place. An unknown name becomes empty and is reported. Throws
 * TemplateError.
 */
export function render(template: string, values: TemplateValues, place: Place = inText): Rendered {
  if (!template.includes('{{')) return { text: place.literal(template), unknown: [] };
  const walk: Walk = { place, values, unknown: new Set(), output: '' };
  program(parseTemplate(template), walk, 0);
  return { text: walk.output, unknown: [...walk.unknown] };
}
