import assert from 'node:assert/strict';
import test from 'node:test';
import { Execution } from '../../../scripts/charts/go-template/execute.ts';
import { functions } from '../../../scripts/charts/go-template/functions.ts';
import { parse } from '../../../scripts/charts/go-template/parse.ts';

function render(source: string, data: unknown = {}): string {
  return new Execution(functions).run(parse(source).nodes, data);
}

const cases: readonly [what: string, source: string, data: unknown, text: string][] = [
  ['text stays', 'a\n b', {}, 'a\n b'],
  ['markers trim', 'a \n{{- .x -}}\n b', { x: 1 }, 'a1b'],
  ['comments vanish', 'a{{/* {{ .x }} */}}b', {}, 'ab'],
  ['braces in strings are text', '{{ print "}}" }}', {}, '}}'],
  ['paths go down', '{{ .a.b }}{{ $.a.b }}', { a: { b: 'x' } }, 'xx'],
  [
    'if takes the first that holds',
    '{{ if .a }}1{{ else if .b }}2{{ else }}3{{ end }}',
    { b: 1 },
    '2',
  ],
  [
    'nothing, zero and empty are false',
    '{{ if or .a .b .c .d }}1{{ else }}0{{ end }}',
    { b: 0, c: '', d: [] },
    '0',
  ],
  ['with moves the dot', '{{ with .a }}{{ .b }}{{ end }}', { a: { b: 1 } }, '1'],
  [
    'range over a list',
    '{{ range $i, $x := .l }}{{ $i }}{{ $x }}{{ end }}',
    { l: ['a', 'b'] },
    '0a1b',
  ],
  [
    'range over keys in order',
    '{{ range $k, $v := . }}{{ $k }}{{ $v }}{{ end }}',
    { b: 2, a: 1 },
    'a1b2',
  ],
  ['range over nothing', '{{ range .l }}x{{ else }}none{{ end }}', { l: [] }, 'none'],
  [
    'variables end with their block',
    '{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}',
    {},
    '1',
  ],
  [
    '= reaches the outer variable',
    '{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}',
    {},
    '2',
  ],
  ['pipes give the last argument', '{{ .a | default "b" | quote }}', {}, '"b"'],
  ['parentheses have fields', '{{ (dict "a" "b").a }}', {}, 'b'],
  [
    'yaml has its keys sorted',
    '{{ toYaml . | nindent 2 }}',
    { b: [1], a: 'on' },
    '\n  a: on\n  b:\n    - 1',
  ],
  ['integers are counted', '{{ add (int .a) 30 }}', { a: 60 }, '90'],
];

for (const [what, source, data, text] of cases) {
  test(what, () => {
    assert.equal(render(source, data), text);
  });
}

const refused: readonly [what: string, source: string, data: unknown, reason: RegExp][] = [
  ['an unknown function', '{{ env "HOME" }}', {}, /no function env/],
  ['names of the language this runs in', '{{ toLocaleString "a" }}', {}, /no function/],
  ['a field of nothing', '{{ .a.b }}', {}, /\.b of undefined/],
  ['printing nothing', '{{ .a }}', {}, /cannot be printed/],
  ['printing a map', '{{ .a }}', { a: {} }, /cannot be printed/],
  ['a number that Go would print as 1e+06', '{{ .a }}', { a: 1_000_000 }, /as a float/],
  [
    'comparing a number of the values with an integer',
    '{{ eq .a 1 }}',
    { a: 1 },
    /incompatible types/,
  ],
  ['a variable that is not declared', '{{ $x }}', {}, /not declared/],
  ['a missing end', '{{ if true }}', {}, /no end/],
  ['an end too many', '{{ end }}', {}, /nothing to close/],
  ['what it does not know', '{{ break }}', {}, /not supported/],
];

for (const [what, source, data, reason] of refused) {
  test(`${what} is refused`, () => {
    assert.throws(() => render(source, data), reason);
  });
}
