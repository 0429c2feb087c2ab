import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createScrubber } from '../../../agent/scrub/create-scrubber.ts';
import { CredentialDetector } from '../../../agent/scrub/detect.ts';
import { mask } from '../../../agent/scrub/scrubber.ts';
import { workMs } from '../../support/time-spent.ts';

const scrubber = createScrubber({ secrets: [], detect: true });

// Put together here, so that those who scan repositories for credentials do not stop at this file.
const random36 = 'aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5';
const random32 = 'f3A9c1E7b5D2a8F4e6C0b9D1a7E3f5C2';
const hex32 = '9f86d081884c7d659a2feaa0c55ad015';
const hex40 = 'da39a3ee5e6b4b0d3255bfef95601890afd80709';
const hex64 = hex32 + hex32;
const uuid = '3fa85f64-5717-4562-b3fc-2c963f66afa6';
const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${random36}abcdefg`;
const key = (kind: string): string =>
  `-----BEGIN ${kind}-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQ\n-----END ${kind}-----`;

/** A text, and what of it must be gone. */
const credentials: [text: string, gone: string][] = [
  ['AWS', `AKIA${'IOSFODNN7EXAMPLE'}`],
  ['AWS session', `ASIA${'IOSFODNN7EXAMPLE'}`],
  ['GitHub', `ghp_${random36}`],
  ['GitHub OAuth', `gho_${random36}`],
  ['GitHub server', `ghs_${random36}`],
  ['GitHub fine', `github_pat_${random32}_${random36}`],
  ['GitLab', `glpat-${random32.slice(0, 20)}`],
  ['GitLab runner', `glrt-${random32.slice(0, 20)}`],
  ['Slack', `xoxb-${'123456789012-123456789012-abcdefABCDEF'}`],
  ['Slack user', `xoxp-${'123456789012-123456789012-abcdefABCDEF'}`],
  ['Slack app', `xapp-1-${'A012-123456789012-abcdef'}`],
  ['https://hooks.slack.com/services/', `T00000000/B00000000/${'X'.repeat(24)}`],
  ['Stripe', `sk_live_${random32}`],
  ['Stripe test', `sk_test_${random32}`],
  ['Stripe restricted', `rk_live_${random32}`],
  ['Stripe webhook', `whsec_${random32}`],
  ['OpenAI', `sk-proj-${random36}`],
  ['Anthropic', `sk-ant-api03-${random36}`],
  ['Google', `AIza${'SyA1234567890abcdefghijklmnopqrstuv'}`],
  ['Google OAuth', `ya29.${random36}`],
  ['Google secret', `GOCSPX-${random36.slice(0, 28)}`],
  ['npm', `npm_${random36}`],
  ['PyPI', `pypi-AgE${random36}${random36}`],
  ['SendGrid', `SG.${random32.slice(0, 22)}.${random36}abcdefg`],
  ['DigitalOcean', `dop_v1_${hex64}`],
  ['Shopify', `shpat_${hex32}`],
  ['Hugging Face', `hf_${random36}`],
  ['Vault', `hvs.${random36}`],
  ['JWT', jwt],
  ['authorization: Bearer ', random36],
  ['Authorization: Basic ', Buffer.from('user:hunter22').toString('base64')],
  ['Cookie: ', 'session=abc; theme=dark'],
  ['postgres://app:', 'hunter2pw@db'.slice(0, 9)],
  ['DB_PASSWORD=', 'hunter22'],
  ['"password": "', 'S3cure!pass'],
  ['password: ', 'correct-horse1'],
  ['"api_key":"', random32],
  ["apiKey: '", random32],
  ['X_API_KEY=', [...hex32].reverse().join('')],
  ['client_secret=', random32],
  ['https://a.example/?access_token=', random36],
  ['export AUTH_TOKEN=', random36],
  ['AWS_SECRET_ACCESS_KEY=', `wJalrXUtnFEMI/K7MDENG/bPxRfiCY${'EXAMPLEKEY1'}`],
  ['credentials: ', 'a1b2c3d4e5f6G7'],
  ['privateKey: "', random36],
  [`\\"secret\\": \\"`, random32],
  ['key: ', key('PRIVATE KEY').slice(27, -25)],
  ['key: ', key('RSA PRIVATE KEY').slice(31, -29)],
  ['key: ', key('OPENSSH PRIVATE KEY').slice(35, -33)],
];

/** What surrounds them where they are not in one line. */
function surrounding(text: string, gone: string): string {
  if (text.startsWith('postgres')) return `${text}${gone}@db.example/app`;
  const kind = ['RSA PRIVATE KEY', 'OPENSSH PRIVATE KEY', 'PRIVATE KEY'].find((one) =>
    key(one).includes(`-----BEGIN ${one}-----${gone}-----END`),
  );
  if (kind !== undefined) return `${text}-----BEGIN ${kind}-----${gone}-----END ${kind}-----`;
  return /["'=:/ ]$/.test(text) ? `${text}${gone}"` : `${text}: ${gone} and more`;
}

describe('what looks like a credential is hidden', () => {
  for (const [text, gone] of credentials) {
    const whole = surrounding(text, gone);
    it(JSON.stringify(whole).slice(0, 70), () => {
      const scrubbed = scrubber.text(whole);
      assert.ok(scrubbed.includes(mask), scrubbed);
      assert.ok(!scrubbed.includes(gone), scrubbed);
    });
  }
});

const harmless = [
  `id: ${uuid}`,
  `"requestId":"${uuid}"`,
  `sha1 ${hex40}`,
  `sha256: ${hex64}`,
  `"_sha1":"${hex40}.html"`,
  `commit ${hex40}`,
  `"etag":"${hex32}"`,
  `traceparent: 00-${hex32}-00f067aa0ba902b7-01`,
  `x-trace-id: ${hex32}`,
  `data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==`,
  `integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC"`,
  'The password is required',
  'password: required',
  '"password": "Password must not be empty"',
  '<input type="password" name="password" autocomplete="current-password">',
  'interface Login { user: string; password: string }',
  'const token = getToken();',
  'const authToken = process.env.AUTH_TOKEN;',
  'token: string | undefined',
  '"token_type":"bearer"',
  '"tokenEndpoint":"https://login.example/oauth2/token"',
  '"author":"Jane Doe 1234567890"',
  '"authors": "Smith1234567890ABC"',
  'authority: https://login.example/2f4c6d8e-1234',
  'basic understanding of things',
  'Basic Authentication is on',
  'bearer of bad news everyone knows',
  'a sk-circle-fade-dot-container-wrapper element',
  'class="task-list-item-checkbox-wrapper"',
  'risk-assessment-2024-final-version-two',
  'https://example.com:8080/path@2x.png',
  'http://example.com/a:b@c',
  'import x from "@scope/name@1.2.3"',
  '"secretName": "production-database-1234"',
  'password_hash: $2b$10$abcdefghijklmnopqrstuv',
  'MAX_TOKENS=4096',
  '"max_tokens": 128000',
  '"prompt_tokens":12345678',
  '"authenticated":true',
  '"apiKeyId":"1234567890abcdef"',
  '-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0B\n-----END CERTIFICATE-----',
  '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIB\n-----END PUBLIC KEY-----',
  'secret: {{API_SECRET}}',
  'password=${DB_PASSWORD}',
  `token: ${mask}`,
  'AKIA is a prefix',
  'eyJ is how they begin',
  `page@${hex32}`,
  '2026-11-21T10:15:30.123Z GET /v1/tokens 200 12 ms',
];

describe('what only resembles a credential stays', () => {
  for (const text of harmless) {
    it(JSON.stringify(text).slice(0, 70), () => {
      assert.equal(scrubber.text(text), text);
    });
  }
});

describe('detection', () => {
  it('has at least forty examples of either kind', () => {
    assert.ok(credentials.length >= 40 && harmless.length >= 40);
  });

  it('hides fields of values by their names', () => {
    const value = {
      dbPassword: 'hunter22',
      note: 'hunter22',
      env: [{ key: 'API_TOKEN', value: random32 }],
    };
    assert.deepEqual(scrubber.value(value), {
      ...{ dbPassword: mask, note: 'hunter22', env: [{ key: 'API_TOKEN', value: mask }] },
    });
  });

  it('is off unless asked for', () => {
    const plain = createScrubber({ secrets: [], detect: false });
    assert.equal(plain.text(`ghp_${random36}`), `ghp_${random36}`);
  });

  it('gives the same in a stream, however lines are cut', () => {
    const text = [
      ...credentials.map(([before, gone]) => surrounding(before, gone)),
      ...harmless,
    ].join('\n');
    for (const size of [1, 7, 64, 1_000, 100_000]) {
      const detector = new CredentialDetector();
      const pieces: Buffer[] = [];
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += size)
        pieces.push(...detector.push([bytes.subarray(at, at + size)]));
      pieces.push(...detector.end());
      const result = Buffer.concat(pieces).toString();
      for (const [, gone] of credentials) assert.ok(!result.includes(gone), `${size}: ${gone}`);
      for (const line of harmless) assert.ok(result.includes(line), `${size}: ${line}`);
    }
  });

  it('hides the same anywhere in a long line', () => {
    // Each address is a place at which a credential may begin.
    const filler = 'https://shop.example/ '.repeat(10_000);
    const long = `eyJ${'a'.repeat(4_000)}.eyJ${'b'.repeat(16_000)}${`.${'c'.repeat(4_000)}`.repeat(4)}`;
    for (const credential of [long, `AKIA${'IOSFODNN7EXAMPLE'}`, key('RSA PRIVATE KEY')]) {
      for (let before = 79_000; before < 125_000; before += 1_111) {
        const text = `${filler.slice(0, before)} ${credential} ${filler.slice(before)}`;
        const hidden = scrubber.text(text);
        const shown = [...credential.matchAll(/-----(?:BEGIN|END)[^-]*-----/g)].join(mask) || mask;
        assert.equal(hidden, text.replace(credential, shown), `after ${before} characters`);
      }
      const inWord = `${filler.slice(0, 80_010)}x${credential} ${filler}`;
      if (!credential.startsWith('-')) assert.equal(scrubber.text(inWord), inWord);
    }
  });

  it('takes time in proportion to the length, whatever the text', () => {
    const texts = [
      'token=',
      'eyJ',
      'sk-',
      '://a:',
      'cookie: ',
      '-----BEGIN PRIVATE KEY-----',
      'bearer  ',
      'a.',
    ];
    for (const text of texts) {
      const long = text.repeat(1_000_000 / text.length);
      const tookMs = workMs(() => scrubber.text(long));
      assert.ok(tookMs < 5_000, `${text}: ${tookMs} ms for 1 MB`);
    }
  });
});
