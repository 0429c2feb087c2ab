import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { readFolder, writeFolder } from '../../../control-plane/as-code/index.ts';
import { temporaryFolder } from '../../support/system.ts';

test('what a link in the folder leads to is not written', async () => {
  using place = temporaryFolder();
  const outside = join(place.path, 'outside.yaml');
  writeFileSync(outside, 'of others');
  const other = join(place.path, 'folder');
  mkdirSync(other);
  const folder = join(place.path, 'monitoring');
  mkdirSync(join(folder, 'checks'), { recursive: true });
  symlinkSync(outside, join(folder, 'checks', 'shop.yaml'));
  symlinkSync(other, join(folder, 'snippets'));
  for (const path of ['checks/shop.yaml', 'snippets/sign.yaml']) {
    await assert.rejects(
      writeFolder(folder, [{ path, text: 'name: a\n' }]),
      /is a symbolic link: remove it, or name another folder/,
    );
  }
  assert.equal(readFileSync(outside, 'utf8'), 'of others');
  const { written } = await writeFolder(folder, [{ path: 'checks/api.yaml', text: 'name: a\n' }]);
  assert.deepEqual(written, ['checks/api.yaml']);
});

test('a file in another encoding is refused with its line, and changes no name', async () => {
  using place = temporaryFolder();
  for (const [name, bytes] of [
    ['latin-1', Buffer.from('name: a\ndescription: gr\u00fcn\n', 'latin1')],
    ['utf-16', Buffer.from('\ufeffname: a\n', 'utf16le')],
    ['utf-8', Buffer.from('\ufeffname: gr\u00fcn\n')],
  ] as const) {
    const folder = join(place.path, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.yaml'), bytes);
    const line = name === 'latin-1' ? 2 : 1;
    const said = new RegExp(`^could not read a\\.yaml: its line ${line} is not in UTF-8: save it`);
    if (name === 'utf-8') assert.equal((await readFolder(folder))[0]?.text, 'name: grün\n');
    else await assert.rejects(readFolder(folder), { message: said });
  }
});
