import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const rootFolder = join(import.meta.dirname, '..', '..');

test('npm does not warn about a Node that is older than packages want', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'npm-'));
  t.after(() => rm(folder, { recursive: true }));
  const wantsMore = { name: 'wants-more', version: '1.0.0', engines: { node: '>=999' } };
  await writeFile(join(folder, 'package.json'), JSON.stringify(wantsMore));
  const install = async (): Promise<string> => {
    const args = ['install', '--dry-run', '--offline', '--no-audit', '--no-fund'];
    const { PATH } = process.env;
    const { stderr } = await promisify(execFile)('npm', args, {
      cwd: folder,
      env: { PATH, HOME: folder },
    });
    return stderr;
  };
  assert.match(await install(), /EBADENGINE/);
  await copyFile(join(rootFolder, '.npmrc'), join(folder, '.npmrc'));
  assert.equal(await install(), '');
});
