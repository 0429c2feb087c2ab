/** The tree of a Go template: the part of the language that charts use; anything else is refused. */
import { lex, type Piece, type Token } from './lex.ts';

export type Expression =
  | { kind: 'literal'; value: unknown }
  /** `.a.b`, `$x.a` or `(…).a`; without a path the thing itself. */
  | { kind: 'path'; of: 'dot' | { variable: string } | Expression; path: string[] }
  | { kind: 'function'; name: string }
  | { kind: 'pipeline'; commands: Command[] };

/** A head and its arguments. */
export type Command = readonly [Expression, ...Expression[]];

export interface Declaration {
  names: string[];
  /** True for `=`, which changes a variable that exists. */
  assigns: boolean;
}

export interface Pipeline {
  declaration: Declaration | null;
  commands: Command[];
}

export type Node = { line: number } & (
  | { kind: 'text'; text: string }
  | { kind: 'print'; pipeline: Pipeline }
  | { kind: 'if' | 'with' | 'range'; pipeline: Pipeline; then: Node[]; otherwise: Node[] }
);

const literals: Readonly<Record<string, unknown>> = { true: true, false: false, nil: null };

class Tokens {
  readonly #tokens: readonly Token[];
  #at = 0;
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }
  peek(ahead = 0): Token | undefined {
    return this.#tokens[this.#at + ahead];
  }
  next(): Token {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Error('the action ends too early');
    this.#at += 1;
    return token;
  }
  takes(text: string): boolean {
    const token = this.peek();
    if (token?.kind !== 'sign' || token.text !== text) return false;
    this.#at += 1;
    return true;
  }
}

function parsePath(tokens: Tokens): string[] {
  const path: string[] = [];
  for (
    let token = tokens.peek();
    token?.kind === 'field' && token.isAdjacent;
    token = tokens.peek()
  )
    path.push(tokens.next().text);
  return path;
}

function parseOperand(tokens: Tokens): Expression {
  const token = tokens.next();
  switch (token.kind) {
    case 'string':
      return { kind: 'literal', value: token.text };
    case 'integer':
      return { kind: 'literal', value: BigInt(token.text) };
    case 'float':
      return { kind: 'literal', value: Number(token.text) };
    case 'dot':
      return { kind: 'path', of: 'dot', path: [] };
    case 'field':
      return { kind: 'path', of: 'dot', path: [token.text, ...parsePath(tokens)] };
    case 'variable':
      return { kind: 'path', of: { variable: token.text }, path: parsePath(tokens) };
    case 'word':
      return Object.hasOwn(literals, token.text)
        ? { kind: 'literal', value: literals[token.text] }
        : { kind: 'function', name: token.text };
    case 'sign': {
      if (token.text !== '(') throw new Error(`"${token.text}" is not expected here`);
      const inner: Expression = { kind: 'pipeline', commands: parseCommands(tokens) };
      if (!tokens.takes(')')) throw new Error('a parenthesis is not closed');
      const path = parsePath(tokens);
      return path.length === 0 ? inner : { kind: 'path', of: inner, path };
    }
  }
}

function isEnd(token: Token | undefined): boolean {
  return (
    token === undefined || (token.kind === 'sign' && (token.text === '|' || token.text === ')'))
  );
}

function parseCommands(tokens: Tokens): Command[] {
  const commands: Command[] = [];
  do {
    const head = parseOperand(tokens);
    const rest: Expression[] = [];
    while (!isEnd(tokens.peek())) rest.push(parseOperand(tokens));
    commands.push([head, ...rest]);
  } while (tokens.takes('|'));
  return commands;
}

function parsePipeline(tokens: Tokens): Pipeline {
  const names: string[] = [];
  for (let ahead = 0; ; ahead += 2) {
    const [name, sign] = [tokens.peek(ahead), tokens.peek(ahead + 1)];
    if (name?.kind !== 'variable' || sign?.kind !== 'sign') break;
    names.push(name.text);
    if (sign.text === ',') continue;
    if (sign.text !== ':=' && sign.text !== '=') break;
    for (let skip = 0; skip < names.length * 2; skip += 1) tokens.next();
    const declaration = { names, assigns: sign.text === '=' };
    return { declaration, commands: parseCommands(tokens) };
  }
  return { declaration: null, commands: parseCommands(tokens) };
}

type End = 'end' | 'else' | 'file';

class Parser {
  readonly templates = new Map<string, Node[]>();
  readonly #pieces: readonly Piece[];
  #at = 0;

  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces;
  }

  #conditional(kind: 'if' | 'with' | 'range', tokens: Tokens, line: number): Node {
    const pipeline = parsePipeline(tokens);
    const then: Node[] = [];
    const end = this.#list(then);
    const otherwise: Node[] = [];
    if (end.kind === 'else') {
      if (end.tokens.peek() === undefined) {
        if (this.#list(otherwise).kind !== 'end') throw new Error(`line ${line}: no end`);
      } else {
        const word = end.tokens.next().text;
        if (word !== 'if') throw new Error(`line ${line}: else ${word}`);
        otherwise.push(this.#conditional(word, end.tokens, line));
      }
    } else if (end.kind === 'file') throw new Error(`line ${line}: ${kind} has no end`);
    return { kind, pipeline, then, otherwise, line };
  }

  #list(nodes: Node[]): { kind: End; tokens: Tokens } {
    for (;;) {
      const piece = this.#pieces[this.#at];
      this.#at += 1;
      if (piece === undefined) return { kind: 'file', tokens: new Tokens([]) };
      if (piece.kind === 'text') {
        nodes.push({ kind: 'text', text: piece.text, line: 0 });
        continue;
      }
      const tokens = new Tokens(piece.tokens);
      const first = tokens.peek();
      const word = first?.kind === 'word' ? first.text : '';
      switch (word) {
        case 'end':
        case 'else':
          tokens.next();
          return { kind: word, tokens };
        case 'if':
        case 'with':
        case 'range':
          tokens.next();
          nodes.push(this.#conditional(word, tokens, piece.line));
          break;
        case 'define': {
          tokens.next();
          const body: Node[] = [];
          this.templates.set(tokens.next().text, body);
          if (this.#list(body).kind !== 'end') throw new Error(`line ${piece.line}: no end`);
          break;
        }
        case 'template':
        case 'block':
        case 'break':
        case 'continue':
          throw new Error(`line ${piece.line}: ${word} is not supported`);
        default: {
          const pipeline = parsePipeline(tokens);
          if (tokens.peek() !== undefined) throw new Error(`line ${piece.line}: not understood`);
          nodes.push({ kind: 'print', pipeline, line: piece.line });
        }
      }
    }
  }

  file(): Node[] {
    const nodes: Node[] = [];
    if (this.#list(nodes).kind !== 'file') throw new Error('an end has nothing to close');
    return nodes;
  }
}

/** Parses a file: what it prints, and what it defines for others. */
export function parse(source: string): { nodes: Node[]; templates: Map<string, Node[]> } {
  const parser = new Parser(lex(source));
  const nodes = parser.file();
  return { nodes, templates: parser.templates };
}
