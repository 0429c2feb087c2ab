// Own process: it starts programs.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import test from 'node:test';
import { Program } from '../../../proof/program.ts';
import { writeProgram } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/system.ts';

interface Manifest {
  dependencies: Record<string, string>;
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** Packages find their own ones from where they really are. */
function linkPackages(folder: string): void {
  for (const name of Object.keys(manifestIn(folder).dependencies)) {
    const place = join(folder, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(resolve('node_modules', name), place);
  }
}

test('a control plane from its bundle, with the packages of its manifest alone, serves all it has', async () => {
  using folder = temporaryFolder();
  await writeProgram('control-plane', folder.path);
  linkPackages(folder.path);
  const licences = readFileSync(join(folder.path, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  assert.match(licences, /^express \d+\.\d+\.\d+ \(MIT\)$/m);
  assert.match(licences, /^minisearch \d+\.\d+\.\d+ \(MIT\)$/m);
  await using program = new Program([join(folder.path, 'control-plane.js'), 'serve'], {
    HOST: '127.0.0.1',
    PORT: '0',
    DATABASE_FILE: join(folder.path, 'data', 'control-plane.db'),
    TRACE_VIEWER_URL: 'http://localhost:1',
    LOG_FORMAT: 'json',
  });
  const { url } = (await program.log('serving')) as unknown as { url: string };
  const textOf = async (path: string): Promise<string> => {
    const answer = await fetch(new URL(path, url));
    assert.equal(answer.status, 200, path);
    return answer.text();
  };
  const page = await textOf('/console/');
  const script = /src="([^"]+\.js)"/.exec(page)?.[1] ?? '';
  assert.match(await textOf(new URL(script, `${url}/console/`).pathname), /import/);
  const types = script.replace(/[^/]+$/, 'script-types.js');
  assert.match(await textOf(`/console/${types}`), /^export const scriptTypes = .*"getByRole"/);
  assert.match(await textOf('/openapi.json'), /"openapi"/);
  assert.match(await textOf('/docs'), /<html/);
  assert.match(await textOf('/guide/'), /<h1[^>]*>Guide/);
  program.signal('SIGTERM');
  assert.deepEqual(await program.exited, { code: 0, signal: null });
});

test('an agent from its bundle needs no packages for its commands', async () => {
  using folder = temporaryFolder();
  await writeProgram('agent', folder.path);
  assert.deepEqual(manifestIn(folder.path).dependencies, {});
  await using program = new Program([join(folder.path, 'monitor-agent.js'), 'version'], {});
  await program.line('monitor-agent');
  assert.deepEqual(await program.exited, { code: 0, signal: null });
});
