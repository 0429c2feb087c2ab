import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { resolveReferences } from '../../../../control-plane/results/artifacts/resolve-references.ts';

const linkTo = (name: string): string => `https://cp.example/"${name}"`;
const resolve = (value: unknown): unknown =>
  JSON.parse(resolveReferences(JSON.stringify(value), linkTo));

test('whole strings that are references become links, wherever they stand', () => {
  assert.deepEqual(
    resolve({ a: 'artifact:trace.zip', b: ['artifact:shots/a (1).png', { c: 'artifact:x' }] }),
    { a: linkTo('trace.zip'), b: [linkTo('shots/a (1).png'), { c: linkTo('x') }] },
  );
});

test('text that merely contains a reference is left alone', () => {
  const value = {
    said: 'see artifact:trace.zip',
    quoted: 'he said "artifact:trace.zip" to me',
    opens: '"artifact:trace.zip',
    closes: 'artifact:trace.zip"',
    escaped: '\\"artifact:trace.zip"\\',
    'artifact:key': 1,
    out: 'artifact:../../etc/passwd',
    hidden: 'artifact:.env',
    empty: 'artifact:',
    upper: 'Artifact:trace.zip',
  };
  assert.deepEqual(resolve(value), value);
});

test('any JSON keeps its shape, and only whole strings change', () => {
  const piece = fc.oneof(
    fc.constantFrom('artifact:a.png', '"', '\\', 'artifact:', ':', '{', ' ', 'x'),
    fc.string(),
  );
  const string = fc.array(piece, { maxLength: 5 }).map((parts) => parts.join(''));
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      string,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(string, tie('tree'), { maxKeys: 4 }),
    ),
  }));
  const expected = (value: unknown): unknown => {
    if (typeof value === 'string') {
      return /^artifact:(?!\.)[\w.-][\w .()-]*(\/(?!\.)[\w.-][\w .()-]*)?$/.test(value)
        ? linkTo(value.slice('artifact:'.length))
        : value;
    }
    if (Array.isArray(value)) return value.map(expected);
    return Object.fromEntries(
      Object.entries(value as object).map(([key, inner]) => [key, expected(inner)]),
    );
  };
  fc.assert(
    fc.property(tree, (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(resolve(plain), expected(plain));
    }),
  );
});
