import assert from 'node:assert/strict';
import test from 'node:test';
import { readConfig } from '../../agent/config.ts';

test('the dependency cache is switched on by our words and by that of existing deployments', () => {
  const cacheFor = (text: string | undefined) =>
    readConfig({ environment: { DEPENDENCY_CACHE: text } }).config.DEPENDENCY_CACHE;
  assert.equal(cacheFor(undefined), 'OFF');
  assert.equal(cacheFor('off'), 'OFF');
  assert.equal(cacheFor('on'), 'ON');
  assert.equal(cacheFor('CHECKLY_S3'), 'ON');
  assert.throws(() => cacheFor('S3'), /DEPENDENCY_CACHE must be one of OFF, ON, LOCAL/);
});
