/**
 * What a script may use, by name: completion and explanations. They know the declarations in
 * `script-types.ts`, and follow names and calls through one file; they check nothing.
 */
import {
  hoverTooltip,
  localCompletionSource,
  snippets as snippetCompletions,
  syntaxTree,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  type EditorState,
  type SyntaxNode,
} from './codemirror.ts';
import { scriptTypes, type Member } from '../script-types.ts';

/** `variables` are those of `process.env`. */
export interface Surroundings {
  kind: 'test' | 'setup' | 'teardown';
  variables: () => string[];
  snippets: () => string[];
}

const { types, values, modules } = scriptTypes;

const node: Record<string, Member> = {
  process: ['', 'The process of the script.', 'process'],
  console: ['', 'What is written is in the log of the run.', 'console'],
  require: ['(module: string)', 'Loads a module of the runtime, or a snippet.', null],
};

const named: Record<Surroundings['kind'], Record<string, Member>> = {
  test: { ...values, ...node },
  setup: {
    request: [
      '',
      'The request that is sent afterwards. What is changed here is sent.',
      'SetupRequest',
    ],
    ...node,
  },
  teardown: {
    request: ['', 'The request that was sent.', 'SetupRequest'],
    response: ['', 'The response. Its body can be changed.', 'TeardownResponse'],
    ...node,
  },
};

const ofNode: Record<string, Record<string, Member>> = {
  process: { env: [': Record<string, string>', 'The variables of the monitor.', 'process.env'] },
  console: Object.fromEntries(
    ['debug', 'error', 'info', 'log', 'warn'].map((name) => [
      name,
      ['(...data)', 'Writes a line into the log of the run.', null],
    ]),
  ),
};

const modulesOfNode = [
  'assert',
  'buffer',
  'crypto',
  'fs',
  'path',
  'querystring',
  'url',
  'util',
  'zlib',
];

function membersOf(type: string, { variables }: Surroundings): Record<string, Member> {
  if (type === 'process.env') {
    return Object.fromEntries(
      variables().map((name) => [
        name,
        [': string', 'A variable of the monitor or the account.', null],
      ]),
    );
  }
  return { ...types[type], ...ofNode[type] };
}

/** Where a name gets its value in this file. */
function valueOf(state: EditorState, name: string, before: number): SyntaxNode | null {
  let found: SyntaxNode | null = null;
  syntaxTree(state).iterate({
    to: before,
    enter: (reference) => {
      if (reference.name !== 'VariableDefinition' || reference.to > before) return;
      if (state.sliceDoc(reference.from, reference.to) !== name) return;
      let next = reference.node.nextSibling;
      if (next?.name === 'TypeAnnotation') next = next.nextSibling;
      // In `{ page }` it is a property of what follows, and has the type of its name.
      found = next?.name === 'Equals' ? next.nextSibling : null;
    },
  });
  return found;
}

/** Values that name one another in a circle end somewhere. */
const maxSteps = 30;

/** The type of an expression; null when it is not known. */
function typeOf(
  state: EditorState,
  node: SyntaxNode | null,
  surroundings: Surroundings,
  steps: number = 0,
): string | null {
  if (node === null || steps > maxSteps) return null;
  const inner = (one: SyntaxNode | null) => typeOf(state, one, surroundings, steps + 1);
  switch (node.name) {
    case 'ParenthesizedExpression':
    case 'UnaryExpression':
    case 'AwaitExpression':
      return inner(node.lastChild?.name === ')' ? node.lastChild.prevSibling : node.lastChild);
    case 'VariableName': {
      const name = state.sliceDoc(node.from, node.to);
      const value = valueOf(state, name, node.from);
      if (value !== null) return inner(value);
      return named[surroundings.kind][name]?.[2] ?? null;
    }
    case 'MemberExpression':
      return memberAt(state, node, surroundings, steps)?.[2] ?? null;
    case 'CallExpression': {
      const { firstChild: callee } = node;
      const first = node.getChild('ArgList')?.firstChild?.nextSibling ?? null;
      const called = callee === null ? '' : state.sliceDoc(callee.from, callee.to);
      if (/^expect(\.soft|\.poll)?$/.test(called)) {
        const matchers = `expect(${inner(first) ?? ''})`;
        return matchers in types ? matchers : 'expect()';
      }
      return inner(callee);
    }
    default:
      return null;
  }
}

/** What `page.goto` names. */
function memberAt(
  state: EditorState,
  node: SyntaxNode,
  surroundings: Surroundings,
  steps: number = 0,
): Member | null {
  const type = typeOf(state, node.firstChild, surroundings, steps + 1);
  const property = node.getChild('PropertyName');
  if (type === null || property === null) return null;
  const name = state.sliceDoc(property.from, property.to);
  if (type.startsWith('expect(') && /^(not|resolves|rejects)$/.test(name)) {
    return ['', membersOf(type, surroundings)[name]?.[1] ?? '', type];
  }
  const members = membersOf(type, surroundings);
  return Object.hasOwn(members, name) ? (members[name] ?? null) : null;
}

function toCompletions(members: Record<string, Member>): Completion[] {
  return Object.entries(members).map(([label, [signature, doc]]) => ({
    label,
    type: signature.startsWith('(') ? 'function' : 'property',
    detail: signature.replace(/\): .*$/, ')'),
    ...((doc !== '' || signature.includes('): ')) && {
      info: [signature.includes('): ') ? `${label}${signature}` : '', doc]
        .filter(Boolean)
        .join('\n'),
    }),
  }));
}

function moduleCompletions({ snippets }: Surroundings) {
  return [
    ...snippets().map((name) => ({ label: `./snippets/${name}`, type: 'text', detail: 'snippet' })),
    ...Object.entries(modules).map(([label, version]) => ({
      label,
      type: 'namespace',
      detail: version,
      info: 'Version of the newest runtime',
    })),
    ...modulesOfNode.map((name) => ({ label: `node:${name}`, type: 'namespace', detail: 'Node' })),
  ];
}

export function completeScript(
  surroundings: Surroundings,
): (context: CompletionContext) => Promise<CompletionResult | null> | CompletionResult | null {
  return (context) => {
    const { state, pos } = context;
    const imported = context.matchBefore(/(?:\bfrom|\bimport|\brequire\()\s*['"][^'"\n]*/);
    if (imported !== null) {
      const quote = Math.max(imported.text.lastIndexOf("'"), imported.text.lastIndexOf('"'));
      return {
        from: imported.from + quote + 1,
        options: moduleCompletions(surroundings),
        validFor: /^[^'"]*$/,
      };
    }
    const at = syntaxTree(state).resolveInner(pos, -1);
    if (/String|Comment|RegExp|Template/.test(at.name)) return null;
    const property = context.matchBefore(/\.\s*[\w$]*/);
    if (property !== null) {
      const dot = syntaxTree(state).resolveInner(property.from + 1, -1);
      const member = dot.name === 'MemberExpression' ? dot : dot.parent;
      const type = typeOf(state, member?.firstChild ?? null, surroundings);
      if (type === null) return null;
      const from = pos - property.text.replace(/^\.\s*/, '').length;
      return {
        from,
        options: toCompletions(membersOf(type, surroundings)),
        validFor: /^[\w$]*$/,
      };
    }
    const word = context.matchBefore(/[\w$]+/);
    if (word === null && !context.explicit) return null;
    const own = localCompletionSource(context);
    const names = toCompletions(named[surroundings.kind]);
    const local = (own?.options ?? []).filter(({ label }) =>
      names.every((name) => name.label !== label),
    );
    const keywords = snippetCompletions.filter(({ label }) => label.startsWith(word?.text ?? ''));
    return {
      from: word?.from ?? pos,
      options: [...local, ...names, ...keywords],
      validFor: /^[\w$]*$/,
    };
  };
}

/** Says what the name under the pointer is. */
export function explainName(surroundings: Surroundings) {
  return hoverTooltip(({ state }, pos, side) => {
    const node = syntaxTree(state).resolveInner(pos, side);
    const name = state.sliceDoc(node.from, node.to);
    const { parent } = node;
    let member: Member | null | undefined = null;
    if (node.name === 'PropertyName' && parent?.name === 'MemberExpression') {
      member = memberAt(state, parent, surroundings);
    } else if (/^Variable(Name|Definition)$/.test(node.name)) {
      const own = named[surroundings.kind];
      member = Object.hasOwn(own, name) ? own[name] : null;
    }
    if (member == null) return null;
    const [signature, doc] = member;
    return {
      pos: node.from,
      end: node.to,
      create() {
        const dom = document.createElement('div');
        dom.className = 'cm-explained';
        const code = document.createElement('code');
        code.textContent = `${name}${signature}`;
        dom.append(code, doc);
        return { dom };
      },
    };
  });
}
