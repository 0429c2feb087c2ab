/**
 * Runs Go templates, stricter than Go: an unknown function, a field of nothing and printing nothing are
 * errors, where Go would print `<no value>` or `map[…]` into a manifest. Integers are bigints, so that
 * comparing one with a number of the values, a float64 to Go, fails here as it does there.
 */
import type { Command, Expression, Node, Pipeline } from './parse.ts';
import { isEmpty } from './values.ts';

export type TemplateFunction = (...args: unknown[]) => unknown;
export type Functions = Readonly<Record<string, TemplateFunction>>;

/** Declared names and their values, innermost last. */
type Variables = { name: string; value: unknown }[];

interface Scope {
  dot: unknown;
  variables: Variables;
}

/** What an action prints. */
export function printed(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && Math.abs(value) < 1e6) return String(value);
  throw new Error(
    typeof value === 'number'
      ? `${value} would be printed as a float; pipe it through int64`
      : `cannot be printed: ${JSON.stringify(value)}`,
  );
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) throw new Error(`.${name} of ${String(value)}`);
  return (value as Record<string, unknown>)[name];
}

function itemsOf(value: unknown): [unknown, unknown][] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.map((item, index) => [BigInt(index), item]);
  if (typeof value === 'object') return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  throw new Error(`cannot range over ${typeof value}`);
}

export class Execution {
  readonly #functions: Functions;
  constructor(functions: Functions) {
    this.#functions = functions;
  }

  /** The text that nodes give for some data, which is also `$`. */
  run(nodes: readonly Node[], data: unknown): string {
    return this.#list(nodes, { dot: data, variables: [{ name: '', value: data }] });
  }

  #list(nodes: readonly Node[], outer: Scope): string {
    const scope = { dot: outer.dot, variables: [...outer.variables] };
    return nodes.map((node) => this.#node(node, scope)).join('');
  }

  #node(node: Node, scope: Scope): string {
    if (node.kind === 'text') return node.text;
    try {
      return this.#action(node, scope);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`line ${node.line}: ${reason}`, { cause: error });
    }
  }

  #action(node: Exclude<Node, { kind: 'text' }>, scope: Scope): string {
    if (node.kind === 'print') {
      const value = this.#pipeline(node.pipeline, scope);
      return node.pipeline.declaration === null ? printed(value) : '';
    }
    const inner = { dot: scope.dot, variables: [...scope.variables] };
    if (node.kind === 'range') {
      const items = itemsOf(this.#commands(node.pipeline.commands, scope));
      if (items.length === 0) return this.#list(node.otherwise, scope);
      const names = node.pipeline.declaration?.names ?? [];
      return items
        .map(([key, item]) => {
          const [first, second] = names;
          const variables = [...scope.variables];
          if (first !== undefined && second === undefined)
            variables.push({ name: first, value: item });
          else if (first !== undefined && second !== undefined)
            variables.push({ name: first, value: key }, { name: second, value: item });
          return this.#list(node.then, { dot: item, variables });
        })
        .join('');
    }
    const value = this.#pipeline(node.pipeline, inner);
    if (isEmpty(value)) return this.#list(node.otherwise, inner);
    return this.#list(node.then, { ...inner, dot: node.kind === 'with' ? value : inner.dot });
  }

  #pipeline({ declaration, commands }: Pipeline, scope: Scope): unknown {
    const value = this.#commands(commands, scope);
    const name = declaration?.names[0];
    if (declaration === null || name === undefined) return value;
    if (declaration.assigns) this.#variable(name, scope).value = value;
    else scope.variables.push({ name, value });
    return value;
  }

  #variable(name: string, { variables }: Scope): { value: unknown } {
    const found = variables.findLast((variable) => variable.name === name);
    if (found === undefined) throw new Error(`$${name} is not declared`);
    return found;
  }

  #commands(commands: readonly Command[], scope: Scope): unknown {
    let value: unknown;
    for (const [index, [head, ...rest]] of commands.entries()) {
      if (head.kind === 'function' && (head.name === 'and' || head.name === 'or')) {
        const operands = index === 0 ? rest : [...rest, { kind: 'literal', value } as const];
        value = this.#shortCircuit(head.name, operands, scope);
        continue;
      }
      const args = rest.map((operand) => this.#value(operand, scope));
      if (index > 0) args.push(value);
      value = this.#call(head, args, scope);
    }
    return value;
  }

  #shortCircuit(name: 'and' | 'or', operands: readonly Expression[], scope: Scope): unknown {
    let value: unknown;
    for (const operand of operands) {
      value = this.#value(operand, scope);
      if (isEmpty(value) === (name === 'and')) return value;
    }
    return value;
  }

  #call(head: Expression, args: unknown[], scope: Scope): unknown {
    if (head.kind === 'function') {
      const called = Object.hasOwn(this.#functions, head.name) ? this.#functions[head.name] : null;
      if (called === null || called === undefined) throw new Error(`no function ${head.name}`);
      return called(...args);
    }
    const value = this.#value(head, scope, true);
    if (typeof value === 'function') return (value as TemplateFunction)(...args);
    if (args.length > 0) throw new Error('arguments are given to what is not a function');
    return value;
  }

  #value(expression: Expression, scope: Scope, mayBeFunction = false): unknown {
    switch (expression.kind) {
      case 'literal':
        return expression.value;
      case 'function':
        return this.#call(expression, [], scope);
      case 'pipeline':
        return this.#commands(expression.commands, scope);
      case 'path': {
        const { of, path } = expression;
        let value: unknown;
        if (of === 'dot') value = scope.dot;
        else if ('variable' in of) value = this.#variable(of.variable, scope).value;
        else value = this.#value(of, scope);
        for (const name of path) value = fieldOf(value, name);
        if (typeof value === 'function' && !mayBeFunction) return (value as TemplateFunction)();
        return value;
      }
    }
  }
}
