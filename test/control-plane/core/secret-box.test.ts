import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { openSecretBox } from '../../../control-plane/core/secret-box.ts';

function databaseIn(folder: string): string {
  return join(folder, 'control-plane.db');
}

function inFolder(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'secret-box-'));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('the key is made once, for its owner alone, and found again', () => {
  inFolder((folder) => {
    const sealed = openSecretBox({}, databaseIn(folder)).seal('secret', 'account');
    assert.equal(sealed.includes('secret'), false);
    assert.deepEqual(readdirSync(folder), ['control-plane.db.key']);
    assert.equal(statSync(join(folder, 'control-plane.db.key')).mode & 0o777, 0o600);
    assert.equal(openSecretBox({}, databaseIn(folder)).open(sealed, 'account'), 'secret');
    assert.throws(() => openSecretBox({}, databaseIn(folder)).open(sealed, 'other'));
    assert.throws(() =>
      openSecretBox({ ENCRYPTION_KEY: 'x'.repeat(32) }, databaseIn(folder)).open(sealed, 'account'),
    );
  });
});

test('half a key file is refused: what it seals anyone could open', () => {
  inFolder((folder) => {
    const file = join(folder, 'control-plane.db.key');
    openSecretBox({}, databaseIn(folder));
    const whole = readFileSync(file, 'utf8');
    for (const content of ['', whole.slice(0, 20)]) {
      writeFileSync(file, content);
      assert.throws(() => openSecretBox({}, databaseIn(folder)), /does not hold a key/);
    }
  });
});
