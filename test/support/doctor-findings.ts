import assert from 'node:assert/strict';
import type { Finding } from '../../agent/doctor/finding.ts';

/** The first finding is the verdict, and holds the words. Whatever is not ok says what to do. */
export function assertSays(findings: readonly Finding[], verdict: string, words: RegExp): void {
  const [first] = findings;
  assert.ok(first);
  assert.equal(first.verdict, verdict, first.evidence);
  assert.match(`${first.evidence} -> ${first.fix ?? ''}`, words);
  for (const { verdict: each, fix } of findings) {
    assert.equal(fix !== null && fix.length > 10, each === 'warn' || each === 'fail');
  }
}
