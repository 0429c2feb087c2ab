import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import {
  inForm,
  inQueryValue,
  inText,
  inUrl,
  type Place,
} from '@monitor/shared/templates/places.ts';
import { render } from '../../../agent/templates/render.ts';
import { TemplateError } from '@monitor/shared/templates/template-error.ts';

const now = Date.parse('2026-03-04T05:06:07Z'); // a Wednesday

function rendered(
  template: string,
  variables: Record<string, string> = {},
  place: Place = inText,
): string {
  return complete(template, variables, place).text;
}

function complete(template: string, variables: Record<string, string>, place: Place) {
  const random = (size: number): Buffer => Buffer.alloc(size, 0xff);
  const values = { variables: new Map(Object.entries(variables)), now: () => now, random };
  return render(template, values, place);
}

const rows: [string, Record<string, string>, Place, string][] = [
  ['{{B}}/orders', { B: 'https://a.example/v1' }, inUrl, 'https://a.example/v1/orders'],
  ['https://a/{{P}}', { P: 'x y/z' }, inUrl, 'https://a/x%20y/z'],
  ['https://a/?q={{Q}}', { Q: 'a&b=c/d é' }, inUrl, 'https://a/?q=a%26b%3Dc%2Fd%20%C3%A9'],
  ['https://a/?{{{Q}}}', { Q: 'a=1&b=2' }, inUrl, 'https://a/?a=1&b=2'],
  ['{{X}} & {{{Y}}}', { X: 'a b', Y: 'c=d' }, inQueryValue, 'a%20b%20%26%20c=d'],
  ['a={{X}}&{{{Y}}}', { X: 'b&c', Y: 'd=e' }, inForm, 'a=b%26c&d=e'],
  ['{"a":"{{X}}"}', { X: '<b> "c" & \'d\'' }, inText, '{"a":"<b> "c" & \'d\'"}'],
  ['{"a":{"b":{}}}', {}, inText, '{"a":{"b":{}}}'],
  ['\\{{X}}', { X: 'never' }, inText, '{{X}}'],
  ['{{#if X}}yes{{else}}no{{/if}}{{#unless X}}!{{/unless}}', { X: '' }, inText, 'no!'],
  ['a{{! not this }}b', {}, inText, 'ab'],
];

suite('what a template gives where it stands', () => {
  for (const [template, variables, place, expected] of rows) {
    test(`${template} gives ${expected}`, () => {
      assert.equal(rendered(template, variables, place), expected);
    });
  }
});

test('half of a character pair does not break an address', () => {
  assert.equal(rendered('https://a/?q={{Q}}', { Q: '\ud800' }, inUrl), 'https://a/?q=%EF%BF%BD');
});

test('an identifier and a number are made anew, within their bounds', () => {
  assert.equal(rendered('{{$UUID}}'), 'ffffffff-ffff-4fff-bfff-ffffffffffff');
  const number = Number(rendered('{{$RANDOM_NUMBER}}'));
  assert.ok(Number.isInteger(number) && number >= 0 && number <= 10_000, String(number));
});

const instants: [string, string][] = [
  ['{{moment}}', '2026-03-04T05:06:07.000Z'],
  ['{{moment "YYYY-MM-DD"}}', '2026-03-04'],
  ['{{moment "2 days ago" "YYYY-MM-DD"}}', '2026-03-02'],
  ['{{moment "in 3 hours" "HH:mm"}}', '08:06'],
  ['{{moment "a month from now" "YYYY-MM-DD"}}', '2026-04-04'],
  ['{{moment "last week" "YYYY-MM-DD"}}', '2026-02-25'],
  ['{{moment "next month" format="YYYY-MM-DD"}}', '2026-04-04'],
  ['{{moment "yesterday" "X"}}', '1772514367'],
  ['{{moment "next monday" "YYYY-MM-DD"}}', '2026-03-09'],
  ['{{moment "last wednesday" "YYYY-MM-DD"}}', '2026-02-25'],
  ['{{moment "next wednesday" "YYYY-MM-DD"}}', '2026-03-11'],
  ['{{moment "last tuesday" "YYYY-MM-DD"}}', '2026-03-03'],
  ['{{moment "2025-12-31" "DD.MM.YYYY"}}', '31.12.2025'],
];

suite('instants in words', () => {
  for (const [template, expected] of instants) {
    test(`${template} is ${expected}`, () => {
      assert.equal(rendered(template), expected);
    });
  }
});

test('a name without a value becomes nothing and is reported once', () => {
  const seen = complete('[{{GONE}}{{GONE}}]', {}, inText);
  assert.deepEqual(seen, { text: '[]', unknown: ['GONE'] });
});

test('no name reaches a prototype', () => {
  for (const name of ['constructor', '__proto__', 'toString', 'X.constructor', 'X.length']) {
    assert.equal(rendered(`[{{${name}}}]`, { X: 'abc' }), '[]', name);
  }
});

const refused: [string, string, RegExp][] = [
  ['an open tag', 'a {{X', /Parse error/],
  ['a partial', '{{> other}}', /partials/],
  ['a decorator', '{{#*inline "a"}}{{/inline}}', /decorators/],
  ['a loop', '{{#each X}}a{{/each}}', /no block "each"/],
  ['a helper of another house', '{{lookup X "y"}}', /no helper "lookup"/],
  ['words that name no time', '{{moment "whenever" "X"}}', /does not know that time/],
  ['a value repeated to excess', '{{X}}'.repeat(1_000), /longer than 1048576/],
  ['too many tags', '{{Y}}'.repeat(1_001), /more than 1000 tags/],
  ['a tag without end', `{{${' '.repeat(3_000)}X}}`, /more than 2000 characters/],
  ['blocks in blocks', '{{#if X}}'.repeat(51) + '{{/if}}'.repeat(51), /50 blocks/],
  ['calls in calls', `{{moment ${'(moment '.repeat(200)}${')'.repeat(200)}}}`, /nested/],
];

suite('a template is refused for', () => {
  for (const [name, template, message] of refused) {
    test(name, () => {
      assert.throws(
        () => rendered(template, { X: 'x'.repeat(2_000), Y: 'y' }),
        (error) => error instanceof TemplateError && message.test(error.message),
      );
    });
  }
});
