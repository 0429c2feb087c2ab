import assert from 'node:assert/strict';
import test from 'node:test';
import { findingsIn } from '../../../scripts/words/find.ts';

const found = (file: string, source: string) =>
  findingsIn(file, source).map(({ line, found: text }) => [line, text]);

test('names of files, exports and their members are found, whatever their case', () => {
  const source = [
    "import { carryOut } from './effects.ts';",
    'export interface Rules { silence: null; untold(): void }',
    'export const mostRetries = 3, maxRetries = 3;',
    'export class SecretBox {}',
    "export { plan as Outline } from './plan.ts';",
    'const told = carryOut();',
    'export const toldApart = told;',
  ].join('\n');
  assert.deepEqual(found('agent/record-fault.ts', source), [
    [0, 'record-fault.ts'],
    [2, 'silence'],
    [2, 'untold'],
    [3, 'mostRetries'],
    [4, 'SecretBox'],
    [5, 'Outline'],
    [7, 'toldApart'],
  ]);
});

test('texts are found in literals and templates, with the line they are on', () => {
  const source = [
    "import './fault lines.ts';",
    "log('an error of ours');",
    'const page = (',
    '  <p title={`to ${name}, who was told`}>',
    '    {name}: nobody was told',
    '  </p>',
    ');',
  ].join('\n');
  assert.deepEqual(found('console/page.tsx', source), [
    [2, 'an error of ours'],
    [4, ', who was told'],
    [5, ': nobody was told'],
  ]);
});

test('comments, keys, columns, metrics and SQL are no texts', () => {
  const source = [
    '// whoever reads this was told',
    "const row = { told: 'told_at', metric: 'faults_total' };",
    'await sql`select lane from outbox where lane = ${lane} and lane is not null`;',
  ].join('\n');
  assert.deepEqual(found('control-plane/rows.ts', source), []);
});

test('documents are read without their code', () => {
  const source = [
    '# Title',
    '',
    'It is `told`, and whoever asks is told.',
    '',
    '```sh',
    'told',
    '```',
  ];
  assert.deepEqual(
    found('README.md', source.join('\n')).map(([line]) => line),
    [3, 3],
  );
});

test('words that only contain one of the list pass', () => {
  const source = "export const defaultPlanes = 'default hours of the controlPlane of yours';";
  assert.deepEqual(found('shared/default-hours.ts', source), []);
});
