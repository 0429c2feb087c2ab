import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { format, resolveConfig } from 'prettier';
import { environmentsPage } from './environments/environments-page.ts';

test('ENVIRONMENTS.md says what the environments are', async () => {
  const path = 'agent/doctor/ENVIRONMENTS.md';
  const options = { ...(await resolveConfig(path)), filepath: path };
  assert.equal(readFileSync(path, 'utf8'), await format(environmentsPage(), options));
});
