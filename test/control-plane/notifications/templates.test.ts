// SQLite only: it tests words.
import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import fc from 'fast-check';
import { TemplateError } from '@monitor/shared/templates/template-error.ts';
import { messageOf } from '../../../control-plane/notifications/message.ts';
import { alertVariables } from '../../../control-plane/notifications/templates/alert-variables.ts';
import { templateProblem } from '../../../control-plane/notifications/templates/check-template.ts';
import { renderTemplate } from '../../../control-plane/notifications/templates/render-template.ts';
import type { TemplateValue } from '../../../control-plane/notifications/templates/template-value.ts';
import {
  formatOf,
  placeOfBody,
} from '../../../control-plane/notifications/templates/webhook-places.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { alertFacts } from '../../support/notifications.ts';
import { workMs } from '../../support/time-spent.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

function scopeOf(variables: Record<string, TemplateValue>) {
  return {
    now,
    random: () => 0.5,
    newId: () => '00000000-0000-4000-8000-000000000000',
    variables: new Map(Object.entries(variables)),
  };
}

function body(template: string, variables: Record<string, TemplateValue>): string {
  const place = placeOfBody(formatOf(template, undefined));
  return renderTemplate(template, scopeOf(variables), place);
}

const facts = alertFacts();
const known = alertVariables(
  facts,
  messageOf(facts, 'x', 'https://m.example'),
  'https://m.example',
);

test('every documented variable has its value', () => {
  const said = Object.entries(known).map(([name]) => `${name}={{{${name}}}}`);
  assert.deepEqual(renderTemplate(said.join('\n'), scopeOf(known)).split('\n'), [
    'ALERT_TITLE=Check "Checkout" has failed',
    'ALERT_TYPE=ALERT_FAILURE',
    'CHECK_NAME=Checkout',
    'CHECK_ID=7c8a0f3e-58c9-4b44-9a2c-2d0e1f3a4b5c',
    'CHECK_TYPE=URL',
    'CHECK_DESCRIPTION=Buys a pair of shoes',
    'CHECK_RESULT_ID=1f0e2d3c-4b5a-4978-8695-a4b3c2d1e0f1',
    'CHECK_ERROR_MESSAGE=expected status to equal 200, it was 503',
    'GROUP_NAME=Shop',
    'RESPONSE_TIME=813',
    'API_CHECK_RESPONSE_STATUS_CODE=503',
    'API_CHECK_RESPONSE_STATUS_TEXT=Service Unavailable',
    'RUN_LOCATION=Frankfurt',
    'REGION=eu-central-1',
    'RESULT_LINK=https://m.example/console/#/checks/7c8a0f3e-58c9-4b44-9a2c-2d0e1f3a4b5c/results/1f0e2d3c-4b5a-4978-8695-a4b3c2d1e0f1',
    'STARTED_AT=2026-11-21T08:29:58.000Z',
    'TAGS=team:web,critical',
    'IS_REMINDER=false',
    'REMINDER_SEQUENCE=0',
    'SSL_DAYS_REMAINING=',
    'SSL_CHECK_DOMAIN=',
    'ACKNOWLEDGED_BY=',
    'OUTAGE_DURATION=',
    'AI_ANALYSIS_CLASSIFICATION=',
    'AI_ANALYSIS_ROOT_CAUSE=',
    'AI_ANALYSIS_USER_IMPACT=',
    'AI_ANALYSIS_CODE_FIX=',
    'AI_ANALYSIS_LINK=',
  ]);
});

test('a template can show why a check is degraded', () => {
  const { result } = facts;
  const slow = alertFacts({
    alertType: 'ALERT_DEGRADED',
    result: result && { ...result, error: null, statusCode: '200' },
  });
  const message = messageOf(slow, 'x', 'https://m.example');
  assert.equal(
    alertVariables(slow, message, 'https://m.example')['CHECK_ERROR_MESSAGE'],
    '813 ms are above its degraded limit',
  );
});

const rows: [template: string, expected: string][] = [
  [
    "{{#eq ALERT_TYPE 'ALERT_FAILURE'}}DOWN{{/eq}}{{#eq ALERT_TYPE 'ALERT_RECOVERY'}}UP{{/eq}}",
    'DOWN',
  ],
  [
    '[{{#each TAGS}} "{{this}}" {{#unless @last}},{{/unless}} {{/each}}]',
    '[ "team:web" ,  "critical"  ]',
  ],
  [
    '{{#each TAGS}}{{@index}}{{#if @first}}!{{/if}}{{.}}@{{CHECK_TYPE}};{{/each}}',
    '0!team:web@URL;1critical@URL;',
  ],
  ['{{#each TAGS as |tag at|}}{{at}}={{tag}} {{/each}}', '0=team:web 1=critical '],
  ['{{#each NONE}}x{{else}}nothing{{/each}}', 'nothing'],
  ['{{#TAGS}}<{{this}}>{{/TAGS}}{{^NONE}}none{{/NONE}}', '<team:web><critical>none'],
  ['{{TAGS.[1]}} {{TAGS.length}} {{lookup TAGS 0}}', 'critical 2 team:web'],
  [
    '{{#if (gt RESPONSE_TIME 500)}}slow{{else if (gt RESPONSE_TIME 100)}}fair{{else}}fast{{/if}}',
    'slow',
  ],
  ['{{#compare RESPONSE_TIME ">=" 813}}y{{else}}n{{/compare}}', 'y'],
  [
    '{{#is API_CHECK_RESPONSE_STATUS_CODE "503"}}alike{{/is}}{{#eq API_CHECK_RESPONSE_STATUS_CODE 503}} same{{/eq}}',
    'alike same',
  ],
  ['{{#eq CHECK_TYPE compare="URL"}}y{{/eq}}', 'y'],
  [
    '{{#and CHECK_NAME GROUP_NAME}}both{{/and}}{{#or NONE CHECK_NAME}} one{{/or}}{{#neither NONE NIL}} neither{{/neither}}',
    'both one neither',
  ],
  ['{{#not IS_REMINDER}}first{{/not}}{{#if REMINDER_SEQUENCE}}again{{/if}}', 'first'],
  [
    '{{#contains TAGS "critical"}}page{{/contains}}{{#has CHECK_NAME "Check"}} has{{/has}}',
    'page has',
  ],
  [
    '{{#unlessEq CHECK_TYPE "API"}}a{{/unlessEq}}{{#unlessGt 1 2}}b{{/unlessGt}}{{#unlessGteq 1 2}}c{{/unlessGteq}}{{#unlessLt 1 2}}d{{/unlessLt}}{{#unlessLteq 3 2}}e{{/unlessLteq}}',
    'abce',
  ],
  [
    '{{#ifEven 4}}even{{/ifEven}}{{#ifOdd 3}}odd{{/ifOdd}}{{#ifNth 3 9}}nth{{/ifNth}}',
    'evenoddnth',
  ],
  [
    '{{#isTruthy "nope"}}y{{else}}n{{/isTruthy}}{{#isFalsey "no"}}y{{/isFalsey}}{{#isnt 1 2}}!{{/isnt}}',
    'ny!',
  ],
  ['{{#lt "a" "b"}}a<b{{/lt}} {{#lte 10 9}}no{{else}}10>9{{/lte}} {{eq 1 1}}', 'a<b 10>9 true'],
  ['{{tagValue TAGS "team" "?"}} {{tagValue TAGS "owner" "nobody"}}', 'web nobody'],
  [
    '{{startsWith CHECK_NAME "Che"}} {{replace CHECK_NAME "Check" "Walk"}} {{split "a,b,c" "," 1}}',
    'true Walkout b',
  ],
  ['{{default NONE "else"}} {{year}} {{year 2}}', 'else 2026 26'],
  [
    '{{moment "YYYY-MM-DD"}} {{date "2 days ago" "YYYY-MM-DD"}} {{moment STARTED_AT "HH:mm"}}',
    '2026-11-21 2026-11-19 08:29',
  ],
  ['{{$UUID}} {{$RANDOM_NUMBER}}', '00000000-0000-4000-8000-000000000000 5000'],
  ['{{UNKNOWN}}{{CHECK_NAME.constructor}}{{TAGS.constructor}}{{__proto__}}{{this}}{{@root.x}}', ''],
];

suite('what a template of a webhook gives', () => {
  for (const [template, expected] of rows) {
    test(`${template} gives ${expected}`, () => {
      assert.equal(templateProblem(template), null);
      assert.equal(renderTemplate(template, scopeOf(known)), expected);
    });
  }
});

test('two braces escape for HTML as existing templates expect, three do not', () => {
  const X = `<b> & "q" 'a'`;
  assert.equal(body('{{X}}|{{{X}}}', { X }), `&lt;b&gt; &amp; &quot;q&quot; &#x27;a&#x27;|${X}`);
});

test('no value can end the JSON text it stands in', () => {
  const template =
    '{"a":"{{X}}","b":"-{{{X}}}-","n":{{{N}}},"t":[{{#each T}}"{{{this}}}"{{#unless @last}},{{/unless}}{{/each}}]}';
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.array(fc.string()), (X, T) => {
      const parsed = JSON.parse(body(template, { X, T, N: '{"raw":[1]}' })) as Record<
        string,
        unknown
      >;
      assert.deepEqual(
        [parsed['b'], parsed['n'], parsed['t']],
        [`-${X}-`.toWellFormed(), { raw: [1] }, T],
      );
    }),
    { numRuns: 60 },
  );
  const parsed = JSON.parse(body(template, { X: 'line 1\nline "2" \\', T: [], N: '1' })) as {
    a: string;
  };
  assert.equal(parsed.a, 'line 1\nline &quot;2&quot; \\');
});

test('the form of a body follows its content type, else how it begins', () => {
  assert.equal(formatOf('{{#if X}}{"a":1}{{/if}}', undefined), 'json');
  assert.equal(formatOf('{{ALERT_TITLE}} {', undefined), 'text');
  assert.equal(formatOf('{"a":1}', 'text/plain'), 'text');
  assert.equal(formatOf('a={{X}}', 'application/x-www-form-urlencoded'), 'form');
  assert.equal(
    renderTemplate('a={{X}}&b={{{X}}}', scopeOf({ X: 'c&d' }), placeOfBody('form')),
    'a=c%26d&b=c&d',
  );
});

const broken: [template: string, problem: RegExp][] = [
  ['a\n{{#if X}}b', /Parse error on line 2/],
  ['a\n\n{{shout X}}', /^line 3: there is no helper "shout"/],
  ['{{#each}}a{{/each}}', /^line 1: "each" needs something/],
  ['{{#if (loud X)}}a{{/if}}', /^line 1: there is no helper "loud"/],
  ['{{> other}}', /^line 1: partials/],
  ['{{X'.repeat(3), /Parse error/],
];

suite('a template is refused for', () => {
  for (const [template, problem] of broken) {
    test(JSON.stringify(template), () => {
      assert.match(templateProblem(template) ?? '', problem);
      assert.throws(() => renderTemplate(template, scopeOf({ X: 'x' })), TemplateError);
    });
  }
});

test('work and output are bounded', () => {
  const T = Array.from({ length: 60 }, (_, index) => `tag-${index}`);
  const nested = (depth: number): string =>
    depth === 0 ? 'x' : `{{#each T}}${nested(depth - 1)}{{/each}}`;
  const grow = '{{replace ' + '(replace '.repeat(18) + 'X' + ' "a" X)'.repeat(18) + ' "a" X}}';
  for (const template of [
    nested(6),
    '{{#each T}}{{X}}{{/each}}'.repeat(9),
    grow,
    '{{moment "nonsense" "Y"}}',
  ]) {
    const tookMs = workMs(() => {
      assert.throws(
        () => renderTemplate(template, scopeOf({ T, X: 'a'.repeat(20_000) })),
        (error) => error instanceof TemplateError && /^line 1: /.test(error.message),
      );
    });
    assert.ok(tookMs < 1_000, `${tookMs} ms for ${template.slice(0, 40)}`);
  }
});

test('inspecting the text before a value counts as work: a long JSON body blocks nothing', () => {
  const template = `{"a":"${'x'.repeat(60_000)}{{#each (split X '')}}{{this}}{{/each}}"}`;
  const tookMs = workMs(() => {
    assert.throws(
      () => body(template, { X: 'x'.repeat(40_000) }),
      (error) => error instanceof TemplateError && /too much work/.test(error.message),
    );
  });
  assert.ok(tookMs < 1_000, `${tookMs} ms`);
  assert.equal(
    body(`{"a":"${'x'.repeat(60_000)}${'{{X}}'.repeat(900)}"}`, { X: '12' }).length,
    61_808,
  );
});

test('what is said about a template that cannot be completed holds no value of a variable', () => {
  const X = 'a-secret-of-the-account';
  for (const template of [
    '{{#ifEven X}}a{{/ifEven}}',
    '{{#compare 1 X 2}}a{{/compare}}',
    '{{moment X "YYYY"}}',
  ]) {
    assert.throws(
      () => renderTemplate(template, scopeOf({ X })),
      (error) => error instanceof TemplateError && !error.message.includes(X.slice(0, 8)),
    );
  }
});
