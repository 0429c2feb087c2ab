import assert from 'node:assert/strict';
import test from 'node:test';
import { csvOf } from '../../../../control-plane/core/decide/csv.ts';

test('cells with commas, quotes and line ends are quoted; others are not', () => {
  const row = { a: 'x,y', b: 'say "hi"', c: 'two\nlines', d: 'plain', e: 1.5 };
  assert.equal(
    csvOf(['a', 'b', 'c', 'd', 'e'], [row]),
    'a,b,c,d,e\r\n"x,y","say ""hi""","two\nlines",plain,1.5\r\n',
  );
});

test('nothing is an empty cell, and a negative number stays one', () => {
  assert.equal(csvOf(['a', 'b', 'c'], [{ a: null, c: -5 }]), 'a,b,c\r\n,,-5\r\n');
});

test('text that a spreadsheet would take for a formula is marked as text', () => {
  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\tx']) {
    assert.equal(csvOf(['a'], [{ a: text }]), `a\r\n'${text}\r\n`);
  }
  assert.equal(csvOf(['a'], [{ a: '=HYPERLINK("x,y")' }]), `a\r\n"'=HYPERLINK(""x,y"")"\r\n`);
  assert.equal(csvOf(['a'], [{ a: 'a=b' }]), 'a\r\na=b\r\n');
});
