import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { openSecretCipher } from '../../../control-plane/core/secret-cipher.ts';

function databaseIn(folder: string): string {
  return join(folder, 'control-plane.db');
}

function inFolder(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'secret-cipher-'));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('the key is made once, for its owner alone, and found again', () => {
  inFolder((folder) => {
    const encrypted = openSecretCipher({}, databaseIn(folder)).encrypt('secret', 'account');
    assert.equal(encrypted.includes('secret'), false);
    assert.deepEqual(readdirSync(folder), ['control-plane.db.key']);
    assert.equal(statSync(join(folder, 'control-plane.db.key')).mode & 0o777, 0o600);
    assert.equal(openSecretCipher({}, databaseIn(folder)).decrypt(encrypted, 'account'), 'secret');
    assert.throws(() => openSecretCipher({}, databaseIn(folder)).decrypt(encrypted, 'other'));
    assert.throws(() =>
      openSecretCipher({ ENCRYPTION_KEY: 'x'.repeat(32) }, databaseIn(folder)).decrypt(
        encrypted,
        'account',
      ),
    );
  });
});

test('half a key file is refused: its encryption would be worthless', () => {
  inFolder((folder) => {
    const file = join(folder, 'control-plane.db.key');
    openSecretCipher({}, databaseIn(folder));
    const whole = readFileSync(file, 'utf8');
    for (const content of ['', whole.slice(0, 20)]) {
      writeFileSync(file, content);
      assert.throws(() => openSecretCipher({}, databaseIn(folder)), /does not hold a key/);
    }
  });
});
