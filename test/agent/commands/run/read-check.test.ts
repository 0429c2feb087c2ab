/** What `monitor-agent run` refuses before anything runs. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'node:test';
import { findSources } from '../../../../agent/commands/run/find-sources.ts';
import { readChecks } from '../../../../agent/commands/run/read-check.ts';
import { readReports } from '../../../../agent/commands/run/reports.ts';
import { temporaryFolder } from '../../../support/system.ts';

const request = { url: 'http://127.0.0.1:9' };
const fields = (given: object): string => JSON.stringify({ checkType: 'URL', request, ...given });
const long = { a: 'x'.repeat(16_777_216) };

const refusals: [given: string, text: string | null, ...says: RegExp[]][] = [
  ['empty', null, /the folder "empty" holds no checks; they are called \*\.spec\.ts/],
  ['none-*.ts', null, /no file matches "none-\*\.ts"; quote a pattern/],
  [
    'throws.check.ts',
    "export const url = 'x';\nthrow new Error('no such setting');\n",
    /failed while it was loaded: no such setting, line 2, column 7\n[^]*\n> 2 \| throw/,
  ],
  ['ends.check.ts', 'process.exit(3);\n', /it ended with exit code 3 before it had exported/],
  ['number.check.ts', 'export default [{}, 7];\n', /its export "default\[1\]" is no check/],
  [
    'away/a.spec.ts',
    "import '../shared';\n",
    /imports .*shared\.ts, which is outside of .*away; run it from a folder/,
  ],
  ['long.json', JSON.stringify(long), /"long\.json" cannot be run: .* 16777216 bytes/],
  ['url.json', fields({ request: { url: 7 } }), /"request\.url" must be a string/],
  ['bare.json', '{ "checkType": "URL" }', /: "request" is required; give/],
  [
    'misspelt.json',
    fields({ frequencee: 1, request: { ...request, asertions: [] } }),
    /"frequencee" is not a field .*, did you mean "frequency"\?/,
    /"request\.asertions" .*, did you mean "assertions"\?/,
  ],
  ['colour.json', fields({ colour: 1 }), /"colour" is not a field/],
  [
    'comma.json',
    '{\n  "checkType": "URL",\n}',
    /is not JSON: line 3, column 1: .*\n {2}3 \| \}\n {4}\| \^/,
  ],
  ['list.json', '[]', /does not hold a JSON object/],
  ['example.test', null, /, did you mean https:\/\/example\.test \?;/],
  ['nowhere.json', null, /nowhere\.json/],
  ['tcp://host', null, /tcp:\/\/host/],
  ['dns://name?type=NOPE', null, /NOPE/],
];

test('what cannot be run is named with its place', async () => {
  using folder = temporaryFolder();
  const { path: cwd } = folder;
  for (const name of ['empty', 'away']) mkdirSync(resolve(cwd, name));
  writeFileSync(resolve(cwd, 'away/playwright.config.ts'), 'export default {};\n');
  writeFileSync(resolve(cwd, 'shared.ts'), 'export {};\n');
  for (const [given, text, ...says] of refusals) {
    if (text !== null) writeFileSync(resolve(cwd, given), text);
    const read = async (): Promise<void> => {
      for (const source of findSources([given], cwd).sources)
        await readChecks(source, { cwd, withRetries: false, variables: {} });
    };
    for (const message of says)
      await assert.rejects(read, { code: 'CONFIG_INVALID', message }, given);
  }
});

test('reports that are unknown, or share one output, are refused', () => {
  assert.throws(() => readReports(['html'], false), {
    message: /"html" is no report; give list, json, junit, github/,
  });
  assert.throws(() => readReports(['junit'], true), {
    message: /junit and json cannot share one output/,
  });
});
