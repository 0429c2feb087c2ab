/**
 * Renders webhook templates by walking the parsed tree. No code is generated from a template, work
 * and output are limited, and names cannot reach properties of objects. A missing value is empty.
 */
import { parseTemplate } from '@monitor/shared/templates/parse-template.ts';
import { inText, type Place } from '@monitor/shared/templates/places.ts';
import { TemplateError } from '@monitor/shared/templates/template-error.ts';
import { conditions, helpers, type HelperContext } from './helpers.ts';
import { isTruthy, listOf, printed, type TemplateValue } from './template-value.ts';

const maxOutputLength = 262_144;
const maxValueLength = 262_144;
const maxDepth = 100;
/** Limit of work in characters read or written; a node counts as twenty. */
const maxWork = 2_000_000;
const workOfNode = 20;
/** A place may inspect all text before a value; this many characters cost one unit. */
const glanced = 64;

export interface TemplateScope extends HelperContext {
  variables: ReadonlyMap<string, TemplateValue>;
}

/** Scope of a part of the template: the loop item, and `@index` and the like. */
interface Frame {
  item: TemplateValue;
  data: ReadonlyMap<string, TemplateValue>;
  outer: Frame | null;
}

interface Walk {
  readonly scope: TemplateScope;
  readonly place: Place;
  output: string;
  work: number;
}

type Call = Pick<hbs.AST.MustacheStatement, 'path' | 'params'> & { hash?: hbs.AST.Hash };

function isPath(node: hbs.AST.Expression): node is hbs.AST.PathExpression {
  return node.type === 'PathExpression';
}

function nameOf(node: hbs.AST.Expression): string {
  return isPath(node) ? node.original : 'a literal';
}

function spend(walk: Walk, work: number): void {
  walk.work += work;
  if (walk.work > maxWork) throw new TemplateError('it takes too much work to complete');
}

function append(walk: Walk, text: string): void {
  spend(walk, text.length);
  if (walk.output.length + text.length > maxOutputLength) {
    throw new TemplateError(`it would become longer than ${maxOutputLength} characters`);
  }
  walk.output += text;
}

/** An entry or the length of a list; other values have no parts. */
function partOf(whole: TemplateValue, part: string): TemplateValue {
  const list = listOf(whole);
  if (list === null) return null;
  return part === 'length'
    ? list.length
    : (list[/^\d{1,6}$/.test(part) ? Number(part) : -1] ?? null);
}

/** Names are always variables: loop items are texts without names. */
function lookUp(node: hbs.AST.PathExpression, frame: Frame, { variables }: TemplateScope) {
  const { original, parts, depth, data } = node;
  let from: Frame = frame;
  for (let up = 0; up < depth; up += 1) from = from.outer ?? from;
  const [first = '', ...rest] = parts;
  if (data) return from.data.get(first) ?? null;
  if (first === '') return from.item;
  if (/^(this|\.)[./]/.test(original)) return parts.reduce(partOf, from.item);
  return variables.get(original) ?? rest.reduce(partOf, variables.get(first) ?? null);
}

/** Arguments in order; `compare=` and `format=` may be named. */
function argumentsOf(node: Call, frame: Frame, walk: Walk, depth: number): TemplateValue[] {
  const named = (node.hash?.pairs ?? []).map(({ value }) => value);
  return [...node.params, ...named].map((param) => evaluate(param, frame, walk, depth + 1));
}

function call(node: Call, frame: Frame, walk: Walk, depth: number): TemplateValue {
  const name = nameOf(node.path);
  const condition = conditions.get(name);
  const helper = helpers.get(name);
  if (condition === undefined && helper === undefined) {
    throw new TemplateError(`there is no helper "${name}"`);
  }
  const given = argumentsOf(node, frame, walk, depth);
  spend(
    walk,
    given.reduce<number>((sum, each) => sum + printed(each).length, 0),
  );
  const value = condition?.(given) ?? helper?.(given, walk.scope) ?? null;
  if (printed(value).length > maxValueLength) {
    throw new TemplateError(`"${name}" gives more than ${maxValueLength} characters`);
  }
  return value;
}

function evaluate(
  node: hbs.AST.Expression,
  frame: Frame,
  walk: Walk,
  depth: number,
): TemplateValue {
  if (depth > maxDepth) throw new TemplateError(`it is nested more than ${maxDepth} deep`);
  spend(walk, workOfNode);
  if (node.type === 'SubExpression') return call(node as hbs.AST.SubExpression, frame, walk, depth);
  if (!isPath(node))
    return ('value' in node ? (node.value as TemplateValue | undefined) : null) ?? null;
  const value = lookUp(node, frame, walk.scope);
  // `{{moment}}` may be a helper without arguments; a variable of that name wins.
  const isCall = value === null && node.parts.length === 1 && helpers.has(node.original);
  return isCall ? call({ path: node, params: [] }, frame, walk, depth) : value;
}

function mustache(node: hbs.AST.MustacheStatement, frame: Frame, walk: Walk): void {
  const isCall = node.params.length > 0 || (node.hash as hbs.AST.Hash | undefined) !== undefined;
  const value = printed(isCall ? call(node, frame, walk, 0) : evaluate(node.path, frame, walk, 0));
  const { place, output } = walk;
  spend(walk, Math.ceil(output.length / glanced));
  append(walk, node.escaped ? place.escaped(value, output) : (place.raw?.(value, output) ?? value));
}

/** `{{#each TAGS as |tag index|}}` names the item and its index. */
function withNames(walk: Walk, body: hbs.AST.Program, item: TemplateValue, index: number): Walk {
  const [itemName, indexName] = (body.blockParams as string[] | undefined) ?? [];
  if (itemName === undefined) return walk;
  const variables = new Map(walk.scope.variables).set(itemName, item);
  if (indexName !== undefined) variables.set(indexName, index);
  spend(walk, variables.size);
  return { ...walk, scope: { ...walk.scope, variables } };
}

function repeat(
  items: readonly TemplateValue[],
  body: hbs.AST.Program,
  frame: Frame,
  walk: Walk,
  depth: number,
): void {
  for (const [index, item] of items.entries()) {
    const data = new Map<string, TemplateValue>([
      ['index', index],
      ['key', index],
      ['first', index === 0],
      ['last', index === items.length - 1],
    ]);
    const inner = withNames(walk, body, item, index);
    program(body, { item, data, outer: frame }, inner, depth + 1);
    walk.output = inner.output;
    walk.work = inner.work;
  }
}

function block(node: hbs.AST.BlockStatement, frame: Frame, walk: Walk, depth: number): void {
  const name = node.path.original;
  // Handlebars omits the missing branch from the tree.
  const yes = node.program as hbs.AST.Program | undefined;
  const no = node.inverse as hbs.AST.Program | undefined;
  const choose = (isChosen: boolean): void => {
    const branch = isChosen ? yes : no;
    if (branch !== undefined) program(branch, frame, walk, depth + 1);
  };
  const subject = (): TemplateValue => {
    const [first] = node.params;
    if (first === undefined) throw new TemplateError(`"${name}" needs something to look at`);
    return evaluate(first, frame, walk, depth);
  };
  const over = (value: TemplateValue): void => {
    const items = listOf(value);
    if (items === null || items.length === 0 || yes === undefined) choose(isTruthy(value));
    else repeat(items, yes, frame, walk, depth);
  };
  if (name === 'if') choose(isTruthy(subject()));
  else if (name === 'unless') choose(!isTruthy(subject()));
  else if (name === 'each') over(listOf(subject()) ?? []);
  else if (node.params.length > 0 || conditions.has(name))
    choose(isTruthy(call(node, frame, walk, depth)));
  else over(evaluate(node.path, frame, walk, depth));
}

function program({ body }: hbs.AST.Program, frame: Frame, walk: Walk, depth: number): void {
  if (depth > maxDepth) throw new TemplateError(`it is nested more than ${maxDepth} deep`);
  for (const node of body) {
    spend(walk, workOfNode);
    try {
      statement(node, frame, walk, depth);
    } catch (error) {
      if (!(error instanceof TemplateError) || error.message.startsWith('line ')) throw error;
      throw new TemplateError(`line ${node.loc.start.line}: ${error.message}`, { cause: error });
    }
  }
}

function statement(node: hbs.AST.Statement, frame: Frame, walk: Walk, depth: number): void {
  switch (node.type) {
    case 'ContentStatement':
      append(walk, walk.place.literal((node as hbs.AST.ContentStatement).value));
      break;
    case 'MustacheStatement':
      mustache(node as hbs.AST.MustacheStatement, frame, walk);
      break;
    case 'BlockStatement':
      block(node as hbs.AST.BlockStatement, frame, walk, depth);
      break;
    case 'CommentStatement':
      break;
    default:
      throw new TemplateError(`partials and decorators are not supported (${node.type})`);
  }
}

/** Renders a template for its place. Throws TemplateError with the line. */
export function renderTemplate(
  template: string,
  scope: TemplateScope,
  place: Place = inText,
): string {
  if (!template.includes('{{')) return place.literal(template);
  const walk: Walk = { scope, place, output: '', work: 0 };
  const outermost: Frame = { item: null, data: new Map(), outer: null };
  program(parseTemplate(template), outermost, walk, 0);
  return walk.output;
}
