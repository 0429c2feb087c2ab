/**
 * Credentials that are recognised by their shape alone, one row each. `anchors` are literal texts one
 * of which every match begins with: they are searched for first, all at once, and the patterns are
 * tried only there. Patterns are sticky, without nested repetition, and bounded.
 */

export interface TokenShape {
  readonly name: string;
  readonly anchors: readonly string[];
  /** The last group is what is masked. */
  readonly pattern: RegExp;
  /** Called with what is masked, when the shape alone would be too wide. */
  readonly accepts?: (text: string) => boolean;
}

/** Not in the midst of a longer word or of base64. */
const alone = '(?<![\\w/+.-])';
const end = '(?![\\w])';

const shape = (
  name: string,
  anchors: readonly string[],
  body: string,
  accepts?: (text: string) => boolean,
): TokenShape => ({
  name,
  anchors,
  pattern: new RegExp(`${alone}(${body})${end}`, 'y'),
  ...(accepts === undefined ? {} : { accepts }),
});

const hasDigitAndCapital = (text: string): boolean => /\d/.test(text) && /[A-Z]/.test(text);

/** `user:password` in base64, as Basic authentication has it. */
const isLogin = (text: string): boolean =>
  /^[\x20-\x7e]{1,200}:[\x20-\x7e]{1,400}$/.test(Buffer.from(text, 'base64').toString('latin1'));

export const tokenShapes: readonly TokenShape[] = [
  shape('AWS access key', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], '(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}'),
  shape('GitHub token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], 'gh[pousr]_[A-Za-z0-9]{36,255}'),
  shape('GitHub fine-grained token', ['github_pat_'], 'github_pat_\\w{22,255}'),
  shape(
    'GitLab token',
    ['glpat-', 'gldt-', 'glrt-', 'glptt-', 'glcbt-', 'gloas-'],
    'gl(?:pat|dt|rt|ptt|cbt|oas)-[\\w-]{20,255}',
  ),
  shape(
    'Slack token',
    ['xoxa-', 'xoxb-', 'xoxe-', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-', 'xapp-'],
    '(?:xox[abeoprs]|xapp)-[\\w-]{10,255}',
    (text) => /\d/.test(text),
  ),
  {
    name: 'Slack webhook',
    anchors: ['hooks.slack.com/services/'],
    pattern: /hooks\.slack\.com\/services\/([\w/-]{20,100})/y,
  },
  shape(
    'Stripe key',
    ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'whsec_'],
    '(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,255}',
  ),
  shape('OpenAI or Anthropic key', ['sk-'], 'sk-[\\w-]{20,255}', hasDigitAndCapital),
  shape('Google API key', ['AIza'], 'AIza[\\w-]{35}'),
  shape('Google OAuth token', ['ya29.'], 'ya29\\.[\\w-]{20,2048}'),
  shape('Google OAuth secret', ['GOCSPX-'], 'GOCSPX-[\\w-]{28}'),
  shape('npm token', ['npm_'], 'npm_[A-Za-z0-9]{36}'),
  shape('PyPI token', ['pypi-AgE'], 'pypi-AgE[\\w-]{50,1000}'),
  shape('SendGrid key', ['SG.'], 'SG\\.[\\w-]{22}\\.[\\w-]{43}'),
  shape('DigitalOcean token', ['dop_v1_', 'doo_v1_'], 'do[op]_v1_[a-f0-9]{64}'),
  shape(
    'Shopify token',
    ['shpat_', 'shpca_', 'shppa_', 'shpss_'],
    'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}',
  ),
  shape('Hugging Face token', ['hf_'], 'hf_[A-Za-z0-9]{34,40}'),
  shape('Vault token', ['hvs.', 'hvb.'], 'hv[sb]\\.[\\w-]{24,300}'),
  shape('age key', ['AGE-SECRET-KEY-1'], 'AGE-SECRET-KEY-1[A-Z0-9]{58}'),
  shape(
    'JSON Web Token',
    ['eyJ'],
    'eyJ[\\w-]{8,4096}\\.eyJ[\\w-]{8,16384}(?:\\.[\\w-]{0,4096}){0,4}',
  ),
  {
    name: 'bearer token',
    anchors: ['Bearer ', 'bearer ', 'BEARER '],
    pattern: /bearer\s{1,4}([\w\-.~+/]{16,8192}={0,2})/iy,
    accepts: (text) => /\d/.test(text) && /[a-z]/i.test(text),
  },
  {
    name: 'basic credentials',
    anchors: ['Basic ', 'basic ', 'BASIC '],
    pattern: /basic\s{1,4}([A-Za-z0-9+/]{8,1024}={0,2})/iy,
    accepts: isLogin,
  },
  {
    name: 'cookie header',
    anchors: ['Cookie: ', 'cookie: ', 'COOKIE: '],
    pattern: /cookie: {1,4}([^\s"'=;]{1,256}=[^\r\n"']{1,8191})/iy,
  },
  {
    name: 'password in a URL',
    anchors: ['://'],
    pattern: /:\/\/[^\s/:@"'<>]{0,100}:([^\s/@"'<>]{3,200})(?=@)/y,
    accepts: (text) => !/^\d{1,5}$/.test(text),
  },
];
