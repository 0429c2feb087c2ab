/** What the blocks of the guide name exists: commands, options, operations of the API. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { blocksIn, guideBlocks, type Block } from '../../../scripts/guide/blocks.ts';
import { commands as agentCommands, newProgram as newAgent } from '../../../agent/program.ts';
import {
  commands as operatorCommands,
  newProgram as newOperator,
} from '../../../control-plane/app/program.ts';
import { helpPages } from '../../support/help-pages.ts';

const blocks = guideBlocks();
const ofShell = blocks.filter(({ language }) => language === 'sh');
const place = ({ page, line }: Block): string => `docs/${page}:${line}`;

/** A line that a reader would type. */
const looksLikeCommand =
  /^\s*(?:\$ |sudo |npx |npm |curl |docker |kubectl |helm |control-plane |monitor-agent )/m;

test('commands stand in blocks that are marked as such', () => {
  for (const block of blocks) {
    if (['', 'text', 'json'].includes(block.language)) {
      assert.doesNotMatch(block.text, looksLikeCommand, place(block));
    } else {
      assert.ok(['sh', 'yaml', 'ts', 'nginx', 'caddy'].includes(block.language), place(block));
    }
  }
});

test('blocks stand below their headings, also those of a list, as they are written', () => {
  const text = [
    ...['# A page', '', '```sh', '# no heading', '  one', '```', '## Then', ''],
    ...[
      '1. First:',
      '',
      '   ```sh until',
      '   two',
      '   ```',
      '',
      '```sh background',
      'three',
      '```',
    ],
    ...['```sh not-run: it needs a moon', 'four', '```', ''],
  ].join('\n');
  const found = blocksIn('a.md', text).map(({ heading, line, how, reason, text: inside }) => ({
    ...{ heading, line, how, reason, inside },
  }));
  assert.deepEqual(found, [
    { heading: 'A page', line: 3, how: 'run', reason: '', inside: '# no heading\n  one\n' },
    { heading: 'Then', line: 11, how: 'until', reason: '', inside: 'two\n' },
    { heading: 'Then', line: 15, how: 'background', reason: '', inside: 'three\n' },
    { heading: 'Then', line: 18, how: 'not-run', reason: 'it needs a moon', inside: 'four\n' },
  ]);
});

test('a mark that means nothing is refused, with its place', () => {
  assert.throws(
    () => blocksIn('a.md', '# A\n```sh someday\na\n```\n'),
    /docs\/a\.md:2: .*not "someday"/,
  );
});

test('a block that is not run says why', () => {
  for (const block of ofShell.filter(({ how }) => how === 'not-run')) {
    assert.match(block.reason, /^\S+( \S+){2}/, place(block));
  }
});

test('nothing says to fetch one of the programs by a name that anybody may take in the registry', () => {
  const { stdout } = spawnSync(
    'git',
    ['grep', '-InE', '(npx|npm exec|pnpm dlx|yarn dlx) (-\\S+ )*(monitor-agent|control-plane)\\b'],
    { encoding: 'utf8' },
  );
  assert.equal(stdout, '');
});

test('the key of a location stands in no command, where every user of the machine may read it', () => {
  for (const block of ofShell) {
    assert.doesNotMatch(block.text, /\s--?[\w-]+[= ]\S*(?:API_KEY|apiKey)=["']?\$/, place(block));
  }
});

test('every block of shell commands is one that a shell can read', () => {
  for (const block of ofShell) {
    const { status, stderr } = spawnSync('bash', ['-n'], { input: block.text, encoding: 'utf8' });
    assert.equal(status, 0, `${place(block)}: ${stderr}`);
  }
});

test('YAML can be read', () => {
  for (const block of blocks.filter(({ language }) => language === 'yaml')) {
    for (const document of parseAllDocuments(block.text)) {
      assert.deepEqual('errors' in document ? document.errors : [], [], place(block));
    }
  }
});

const agent = newAgent();
for (const { load } of Object.values(agentCommands)) (await load())(agent);
const operator = newOperator();
for (const { load } of Object.values(operatorCommands)) (await load())(operator);
const pages = { 'monitor-agent': helpPages(agent), 'control-plane': helpPages(operator) };

/** Calls of a program in a block: what stands after its name, to the end of the command. */
function callsOf(program: keyof typeof pages, text: string): string[][] {
  const joined = text.replaceAll('\\\n', ' ').replaceAll(/^\s*#.*$|\s#\s.*$/gm, '');
  const call = new RegExp(`(?:^|[\\s(=;&|]|-- )${program} ([^\\n|;&)>]*)`, 'gm');
  return [...joined.matchAll(call)].map(([, rest = '']) => rest.trim().split(/\s+/));
}

test('every call of the two programs has a command and options that exist', () => {
  let calls = 0;
  for (const block of ofShell) {
    for (const program of ['monitor-agent', 'control-plane'] as const) {
      for (const words of callsOf(program, block.text)) {
        // `kubectl exec control-plane-… -- `, `--name monitor-agent` and folders are no calls.
        if (/^[-./$"]/.test(words[0] ?? '-') && words[0] !== '--help') continue;
        if (words[0] === program || pages[program].get(words[0] ?? '') === undefined) {
          assert.match(
            block.text,
            /docker|helm|kubectl|systemctl|cp /,
            `${place(block)}: ${words.join(' ')}`,
          );
          continue;
        }
        calls += 1;
        const path = [words[0], words[1]].join(' ');
        const help = pages[program].get(path) ?? pages[program].get(words[0] ?? '') ?? '';
        for (const option of words.filter((word) => /^--[a-z]/.test(word))) {
          const name = option.split('=')[0] ?? '';
          assert.ok(new RegExp(`${name}\\b`).test(help), `${place(block)}: ${path} has no ${name}`);
        }
      }
    }
  }
  assert.ok(calls >= 40, String(calls));
});

interface Description {
  paths: Record<string, Record<string, unknown>>;
}

const { paths } = JSON.parse(readFileSync('control-plane/openapi.json', 'utf8')) as Description;

function operationOf(method: string, path: string): boolean {
  return Object.entries(paths).some(([template, operations]) => {
    const pattern = new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
    return pattern.test(path) && method.toLowerCase() in operations;
  });
}

test('every call of the API names an operation of it', () => {
  let calls = 0;
  for (const block of ofShell) {
    const joined = block.text.replaceAll('\\\n', ' ');
    // One call reaches to where the next one begins.
    for (const call of joined.split(/(?=\b(?:api|curl) )/)) {
      const path = /\$(?:URL|CONTROL_PLANE_URL)(\/v1\/[^\s"?']+)/.exec(call)?.[1];
      if (path === undefined) continue;
      calls += 1;
      const given = /-X (\w+)/.exec(call)?.[1];
      const method = given ?? (/ (?:-d|--data-binary) /.test(call) ? 'POST' : 'GET');
      assert.ok(operationOf(method, path), `${place(block)}: there is no ${method} ${path}`);
    }
  }
  assert.ok(calls >= 40, String(calls));
});

/** Whether a chart has a value of this path; an empty object takes any. */
function hasValue(values: unknown, [step, ...deeper]: readonly string[]): boolean {
  if (step === undefined) return true;
  if (typeof values !== 'object' || values === null) return false;
  if (Object.keys(values).length === 0) return true;
  return step in values && hasValue((values as Record<string, unknown>)[step], deeper);
}

test('every value that a block gives to a chart is one of the chart, and every manifest is there', () => {
  let given = 0;
  for (const block of blocks) {
    const joined = block.text.replaceAll('\\\n', ' ');
    for (const [, chart = '', options = ''] of joined.matchAll(
      /helm \w+ \S+ (deploy\/charts\/\S+)([^\n]*)/g,
    )) {
      const values: unknown = parse(readFileSync(`${chart}/values.yaml`, 'utf8'));
      for (const [, path = ''] of options.matchAll(/--set ([\w.]+)=/g)) {
        given += 1;
        assert.ok(hasValue(values, path.split('.')), `${place(block)}: ${chart} has no ${path}`);
      }
    }
    for (const [path] of joined.matchAll(/\bdeploy\/[\w./-]+\.(?:ya?ml|service|conf)\b/g)) {
      assert.ok(existsSync(path), `${place(block)}: ${path}`);
    }
  }
  assert.ok(given >= 10, String(given));
});
