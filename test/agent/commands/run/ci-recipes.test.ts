// Few share a process: it starts programs.
/** The recipes for continuous integration do what they say, as far as a shell can show it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { surroundings } from '../../../../proof/program.ts';
import { agentProgram } from '../../../support/programs.ts';
import { httpServer } from '../../../support/servers.ts';
import { temporaryFolder } from '../../../support/system.ts';
import { version } from '../../../../agent/version.ts';

const document = readFileSync('docs/ci.md', 'utf8');
const recipes = [...document.matchAll(/```yaml\n# (\S+)\n([^]*?)```/g)].map(
  ([, file = '', text = '']) => [file, text] as const,
);

/** The lines that a recipe gives to a shell: `run` of steps, `script` of jobs. */
function shellLines(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(shellLines);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'run' || key === 'script' ? [inner].flat().map(String) : shellLines(inner),
  );
}

for (const [file, text] of recipes) {
  test(`${file} runs the checks of a folder, keeps evidence, and fails with a check`, async () => {
    const seen: (string | undefined)[] = [];
    await using server = await httpServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(seen.length === 1 ? 200 : 503).end();
    });
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, 'checks'));
    mkdirSync(join(folder.path, 'bin'));
    const request = {
      method: 'GET',
      url: server.url,
      headers: [{ key: 'authorization', value: '{{SERVICE_SECRET_TOKEN}}' }],
    };
    writeFileSync(
      join(folder.path, 'checks', 'shop.check.json'),
      JSON.stringify({ checkType: 'API', name: 'shop', request }),
    );
    const program = join(folder.path, 'bin', 'monitor-agent');
    writeFileSync(
      program,
      `#!/bin/sh\nexec '${process.execPath}' '${resolve(agentProgram)}' "$@"\n`,
    );
    chmodSync(program, 0o755);
    const lines = shellLines(parse(text));
    assert.equal(lines.length, 1);
    const { PATH, ...others } = surroundings();
    const run = () =>
      promisify(execFile)('sh', ['-ec', lines.join('\n')], {
        cwd: folder.path,
        env: {
          ...others,
          PATH: `${join(folder.path, 'bin')}:${PATH ?? ''}`,
          SERVICE_SECRET_TOKEN: 'a-token-of-the-shop',
        },
      });
    const { stdout } = await run();
    assert.deepEqual(seen, ['a-token-of-the-shop'], stdout);
    await assert.rejects(run(), ({ code, stdout: shown }: { code: number; stdout: string }) => {
      assert.equal(code, 1, shown);
      assert.equal(shown.includes('a-token-of-the-shop'), false);
      return true;
    });
    assert.ok(existsSync(join(folder.path, 'evidence')));
  });
}

test('the recipes use the image of this version', () => {
  assert.equal(recipes.length, 2);
  for (const [file, text] of recipes)
    assert.ok(text.includes(`monitor-agent:${version}-full`), file);
});
