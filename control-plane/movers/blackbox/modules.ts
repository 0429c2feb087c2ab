/** Modules of the blackbox_exporter: what a target becomes that is probed with one. */
import {
  addressOf,
  dnsCheck,
  icmpCheck,
  sslCheck,
  tcpCheck,
  tlsServerOf,
  type ConvertedCheck,
} from '../converted-check.ts';
import { assertionsFor } from '../decide/status-codes.ts';
import { httpCheck } from '../http-request.ts';
import type { Entry } from '../plan.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { lookUp, SourceObject, textOf } from '../source-object.ts';
import { recordsIn } from './files.ts';

type Assertion = Record<string, unknown>;

export interface Module {
  entry: Entry;
  timeoutSeconds: number;
  /** Null, with a line, for a target that has no counterpart. */
  check(target: string, hostname: string, entry: Entry): ConvertedCheck | null;
}

type Prober = (settings: SourceObject, entry: Entry) => Module['check'];

const proberDefaults = {
  ...{ method: 'GET', follow_redirects: true, ip_protocol_fallback: true, query_class: 'IN' },
  ...{ recursion_desired: true, transport_protocol: 'udp', enable_http2: true },
};

/** One family here; there IPv6 with IPv4 as a fallback is the default. */
function ipFamilyOf(settings: SourceObject, entry: Entry): 'IPv4' | 'IPv6' {
  const preferred = settings.text('preferred_ip_protocol') || 'ip6';
  const hasFallback = settings.flag('ip_protocol_fallback');
  if (preferred === 'ip6' && !hasFallback) return 'IPv6';
  if (hasFallback) {
    const first = preferred === 'ip6' ? 'IPv6, then IPv4' : 'IPv4, then IPv6';
    entry.changed(`${first} (\`preferred_ip_protocol\`) → IPv4 only`);
  }
  return 'IPv4';
}

/** Group 1 would be the value: the whole match is. */
const whole = (pattern: unknown) => `(${textOf(pattern)})`;

function listOf(settings: SourceObject, field: string): string[] {
  return settings.list(field).map(textOf);
}

function bodyAssertions(settings: SourceObject): Assertion[] {
  const judge = (field: string, comparison: string) =>
    listOf(settings, field).map((pattern) => ({
      ...{ source: 'TEXT_BODY', property: whole(pattern), comparison, target: '' },
    }));
  return [
    ...judge('fail_if_body_matches_regexp', 'IS_EMPTY'),
    ...judge('fail_if_body_not_matches_regexp', 'NOT_EMPTY'),
  ];
}

function headerAssertions(settings: SourceObject, entry: Entry): Assertion[] {
  const judge = (given: Readonly<Record<string, unknown>>, comparison: string): Assertion => ({
    ...{ source: 'HEADERS', property: textOf(given['header']), comparison, target: '' },
    regex: whole(given['regexp'] ?? ''),
  });
  const refused = recordsIn(settings.get('fail_if_header_matches')).flatMap((given) => {
    const judged = judge(given, 'IS_EMPTY');
    // A header that is missing fails too, unless that is allowed.
    return given['allow_missing'] === true
      ? [judged]
      : [judged, { ...judged, comparison: 'NOT_EMPTY', regex: null }];
  });
  const wanted = recordsIn(settings.get('fail_if_header_not_matches')).flatMap((given) => {
    if (given['allow_missing'] !== true) return [judge(given, 'NOT_EMPTY')];
    entry.deactivated(
      '`fail_if_header_not_matches` with `allow_missing` accepts one of two things, which assertions cannot say',
    );
    return [];
  });
  return [...refused, ...wanted];
}

/** The first value of each header; values in files are not read. */
function headersOf(settings: SourceObject, entry: Entry): [string, string][] {
  const plain = settings.get('headers');
  const made: [string, string][] = isFields(plain)
    ? Object.entries(plain).map(([name, value]) => [name, textOf(value)])
    : [];
  const listed = settings.get('http_headers');
  for (const [name, given] of Object.entries(isFields(listed) ? listed : {})) {
    const { values, secrets, files } = isFields(given) ? given : {};
    const all = [values, secrets].flatMap((list) => (Array.isArray(list) ? list.map(textOf) : []));
    const [first] = all;
    if (first !== undefined) made.push([name, first]);
    if (all.length > 1) entry.changed(`several values of header ${name} → the first one`);
    if (files !== undefined)
      entry.deactivated(`header ${name} comes from a file: add it to the checks`);
  }
  return made;
}

/** Credentials of `basic_auth`, `authorization` and `bearer_token`. */
function credentialsOf(settings: SourceObject, entry: Entry) {
  const basic = settings.object('basic_auth');
  const authorization = settings.object('authorization', { type: 'Bearer' });
  const bearer = settings.text('bearer_token');
  const username = basic.text('username');
  const password = basic.text('password');
  const credentials = authorization.text('credentials');
  for (const [source, field] of [
    ...([
      [basic, 'username_file'],
      [basic, 'password_file'],
      [authorization, 'credentials_file'],
      [settings, 'bearer_token_file'],
    ] as const),
  ]) {
    if (source.has(field))
      entry.deactivated(`\`${field}\` is not read: add the credential to the checks`);
    source.get(field);
  }
  const token = bearer === '' ? credentials : bearer;
  return {
    basicAuth: username === '' && password === '' ? null : { username, password },
    headers:
      token === ''
        ? []
        : [
            [
              'Authorization',
              `${bearer === '' ? authorization.text('type') : 'Bearer'} ${token}`,
            ] as const,
          ],
  };
}

/** Fields of HTTP modules that decide the verdict and have no counterpart. */
const decisive: Readonly<Record<string, string>> = {
  fail_if_ssl: 'expects a target without TLS',
  enable_http3: 'speaks HTTP/3',
  oauth2: 'fetches a token with OAuth2',
  proxy_url: 'goes through a proxy, which belongs to a private location here',
  fail_if_body_json_matches_cel: 'judges JSON with a CEL expression',
  fail_if_body_json_not_matches_cel: 'judges JSON with a CEL expression',
  body_file: 'its body comes from a file',
};

/** A list with HTTP/1.1 and HTTP/2 refuses versions that hardly any server speaks. */
function reportVersions(settings: SourceObject, entry: Entry): void {
  const versions = listOf(settings, 'valid_http_versions');
  const isUsual = versions.includes('HTTP/1.1') && versions.some((one) => /^HTTP\/2/.test(one));
  if (versions.length === 0) return;
  const field = `\`valid_http_versions\` ${versions.join(', ')}`;
  if (isUsual) entry.approximate(`${field}: the version is not judged, so HTTP/1.0 passes too`);
  else entry.deactivated(`judges the version of HTTP (${field})`);
}

interface TlsSettings {
  serverName: string | null;
  skipChainValidation: boolean;
}

/** Settings of TLS that are paths of files, or have no counterpart. */
function reportTls(settings: SourceObject, entry: Entry): TlsSettings {
  const tls = settings.object('tls_config');
  if (tls.has('cert_file') || tls.has('cert')) {
    entry.deactivated(
      'needs a client certificate (`tls_config.cert_file`). Store it for the host first: it then counts for all checks of that host',
    );
  }
  if (tls.has('ca_file') || tls.has('ca')) {
    entry.notCarried('`tls_config.ca_file`: authorities are a setting of the agents');
  }
  for (const field of ['cert_file', 'cert', 'key_file', 'key', 'ca_file', 'ca']) tls.get(field);
  return {
    serverName: tls.text('server_name') || null,
    skipChainValidation: tls.flag('insecure_skip_verify'),
  };
}

const http: Prober = (settings, entry) => {
  const codes = settings.list('valid_status_codes').map(Number);
  const { assertions, passesNow } = assertionsFor(
    codes.length === 0 ? [[200, 299]] : codes.map((code) => [code, code] as const),
  );
  if (passesNow !== null) {
    entry.approximate(
      `\`valid_status_codes\` ${codes.join(', ')}: every registered code between them is refused; unassigned ones such as ${passesNow} now pass`,
    );
  }
  for (const [field, what] of Object.entries(decisive)) {
    if (settings.has(field)) entry.deactivated(`${what} (\`${field}\`)`);
    settings.get(field);
  }
  reportVersions(settings, entry);
  const tls = reportTls(settings, entry);
  if (tls.serverName !== null) entry.deactivated('`tls_config.server_name` has no counterpart');
  const credentials = credentialsOf(settings, entry);
  const headers = [...headersOf(settings, entry), ...credentials.headers];
  const body = settings.text('body');
  const isJson = headers.some(
    ([name, value]) => /^content-type$/i.test(name) && /json/i.test(value),
  );
  const followRedirects =
    settings.flag('follow_redirects') && !settings.flag('no_follow_redirects');
  const needsTls = settings.flag('fail_if_not_ssl');
  const shared = {
    method: settings.text('method'),
    body,
    bodyType: isJson ? ('JSON' as const) : ('RAW' as const),
    basicAuth: credentials.basicAuth,
    followRedirects,
    skipSSL: tls.skipChainValidation,
    ipFamily: ipFamilyOf(settings, entry),
    assertions: [...assertions, ...bodyAssertions(settings), ...headerAssertions(settings, entry)],
  };
  // Secrets are stored once for a module, not once for each of its targets.
  const stored = httpCheck(entry, { ...shared, url: 'https://target.invalid/', headers });
  const { headers: storedHeaders, basicAuth } = (stored?.fields.request ?? {}) as Record<
    string,
    unknown
  >;
  return (target, hostname, own) => {
    const url = /^[a-z]+:\/\//i.test(target) ? target : `http://${target}`;
    const isSecure = /^https:/i.test(url);
    if (needsTls && !isSecure) own.deactivated('`fail_if_not_ssl` fails for an http address');
    if (needsTls && isSecure && followRedirects) {
      own.approximate('`fail_if_not_ssl`: a redirect to http is followed here, and passes');
    }
    if (hostname !== '' && isSecure) {
      own.deactivated(`the name ${hostname} for TLS (\`hostname\`) has no counterpart`);
    }
    const check = httpCheck(own, {
      ...shared,
      url,
      headers: hostname === '' ? headers : [...headers, ['Host', hostname]],
      basicAuth: null,
    });
    if (check === null || stored === null) return null;
    const isApi = check.checkType === 'API' || stored.checkType === 'API';
    const given = Array.isArray(storedHeaders) ? (storedHeaders as unknown[]) : [];
    const server = tlsServerOf(url, { ...tls, serverName: hostname || tls.serverName });
    return {
      ...(server === null ? {} : { server }),
      checkType: isApi ? 'API' : 'URL',
      ceiling: check.ceiling,
      fields: {
        request: isApi
          ? {
              ...check.fields.request,
              ...{ method: shared.method, body, bodyType: body === '' ? 'NONE' : shared.bodyType },
              headers: hostname === '' ? given : [...given, { key: 'Host', value: hostname }],
              basicAuth: basicAuth ?? null,
            }
          : check.fields.request,
      },
    };
  };
};

/** What is sent and expected, where one exchange says it all; null for a longer dialogue. */
function exchangeOf(steps: readonly Readonly<Record<string, unknown>>[]) {
  const isText = (value: unknown) => value === undefined || typeof value === 'string';
  const isPlain = steps.every(
    ({ starttls, expect_bytes: bytes, send, expect }) =>
      starttls !== true && bytes === undefined && isText(send) && isText(expect),
  );
  if (!isPlain || steps.length > 2) return null;
  const sends = steps.flatMap(({ send }) => (typeof send === 'string' ? [send] : []));
  const expects = steps.flatMap(({ expect }) => (typeof expect === 'string' ? [expect] : []));
  if (sends.length > 1 || expects.length > 1 || sends.some((send) => send.includes('${')))
    return null;
  const isAnswered = steps.findIndex(({ expect }) => typeof expect === 'string');
  const sentAt = steps.findIndex(({ send }) => typeof send === 'string');
  const sendsFirst = sentAt >= 0 && (isAnswered < 0 || sentAt < isAnswered);
  return {
    send: sendsFirst ? (sends[0] ?? null) : null,
    expect: expects[0] ?? null,
    sendsLast: sentAt >= 0 && !sendsFirst,
  };
}

const tcp: Prober = (settings, entry) => {
  const steps = recordsIn(settings.get('query_response'));
  const exchange = exchangeOf(steps);
  if (exchange === null) {
    entry.deactivated(
      '`query_response` is a dialogue of several steps; one question and its answer are possible',
    );
  }
  if (exchange?.sendsLast === true) {
    entry.approximate('`query_response`: what is sent after the expected text is left out');
  }
  if (steps.some((step) => step['labels'] !== undefined)) {
    entry.notCarried('`query_response.labels`: texts of an answer do not become labels');
  }
  const isTls = settings.flag('tls');
  if (isTls && steps.length > 0) {
    entry.deactivated('`tls` with `query_response`: the dialogue is not led over TLS here');
  }
  if (settings.has('tls_config') && !isTls) {
    entry.notCarried('`tls_config` has no effect without `tls`');
    settings.get('tls_config');
  }
  const tls = isTls ? reportTls(settings, entry) : null;
  const ipFamily = ipFamilyOf(settings, entry);
  const expected =
    exchange?.expect == null
      ? []
      : [
          {
            ...{ source: 'RESPONSE_DATA', property: whole(exchange.expect) },
            ...{ comparison: 'NOT_EMPTY', target: '' },
          },
        ];
  return (target, _hostname, own) => {
    const address = addressOf(target);
    if (address?.port == null) {
      own.notCarried('the target is not `host:port`. Nothing was created');
      return null;
    }
    const { host: hostname, port } = address;
    const server = tls === null ? null : { hostname, port, ...tls };
    if (server !== null && steps.length === 0)
      return { ...sslCheck(server, ipFamily, null), server };
    return tcpCheck({
      hostname,
      port,
      ...(exchange?.send == null
        ? {}
        : {
            data: `${exchange.send}
`,
          }),
      ipFamily,
      assertions: expected,
    });
  };
};

const icmp: Prober = (settings, entry) => {
  if (settings.has('ttl'))
    entry.deactivated('`ttl`: a low one decides whether the target is reached');
  settings.get('ttl');
  const ipFamily = ipFamilyOf(settings, entry);
  return (target, _hostname, own) => {
    const address = addressOf(target);
    if (address === null) {
      own.notCarried('the target is not a host. Nothing was created');
      return null;
    }
    return icmpCheck(address.host, ipFamily);
  };
};

const recordTypes = [
  ...['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'SOA', 'NS', 'HTTPS', 'SRV', 'PTR', 'CAA', 'DS'],
  ...['DNSKEY', 'TLSA', 'NAPTR'],
];
const returnCodes = [
  ...['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED', 'YXDOMAIN', 'YXRRSET'],
  ...['NXRRSET', 'NOTAUTH', 'NOTZONE'],
];

/** A pattern that looks at more of a record than its value. */
const seesWholeRecord = /\\t|\t|\bIN\b/;

function answerAssertions(settings: SourceObject, entry: Entry): Assertion[] {
  const answer = settings.object('validate_answer_rrs');
  const judge = (field: string, comparison: string) =>
    listOf(answer, field).flatMap((pattern) => {
      if (seesWholeRecord.test(pattern)) {
        entry.deactivated(`\`${field}\` looks at the TTL or the class of records`);
        return [];
      }
      entry.approximate(
        `\`${field}\` searches the whole answer here, not one record after the other`,
      );
      return [{ source: 'TEXT_ANSWER', property: whole(pattern), comparison, target: '' }];
    });
  for (const field of ['fail_if_all_match_regexp', 'fail_if_not_matches_regexp']) {
    if (answer.has(field)) entry.deactivated(`\`validate_answer_rrs.${field}\` has no counterpart`);
    answer.get(field);
  }
  return [
    ...judge('fail_if_matches_regexp', 'IS_EMPTY'),
    ...judge('fail_if_none_matches_regexp', 'NOT_EMPTY'),
  ];
}

function codeAssertions(settings: SourceObject, entry: Entry): Assertion[] {
  const codes = listOf(settings, 'valid_rcodes');
  const judge = (comparison: string, target: string) => ({
    source: 'RESPONSE_CODE',
    comparison,
    target,
  });
  if (codes.length <= 1) return codes.map((code) => judge('EQUALS', code));
  entry.approximate(`\`valid_rcodes\` ${codes.join(', ')}: every other known code is refused`);
  return returnCodes
    .filter((code) => !codes.includes(code))
    .map((code) => judge('NOT_EQUALS', code));
}

const dns: Prober = (settings, entry) => {
  const recordType = (settings.text('query_type') || 'ANY').toUpperCase();
  const isKnown = recordTypes.includes(recordType);
  if (!isKnown)
    entry.deactivated(`\`query_type\` ${recordType} has no counterpart: A is asked for`);
  if (settings.text('query_class') !== 'IN') entry.deactivated('`query_class` has no counterpart');
  if (!settings.flag('recursion_desired')) {
    entry.deactivated('`recursion_desired: false` has no counterpart');
  }
  if (settings.flag('dns_over_tls')) entry.deactivated('`dns_over_tls` has no counterpart');
  for (const field of ['validate_authority_rrs', 'validate_additional_rrs']) {
    if (settings.has(field)) entry.deactivated(`\`${field}\` has no counterpart`);
    settings.get(field);
  }
  const ipFamily = ipFamilyOf(settings, entry);
  if (ipFamily === 'IPv6') entry.notCarried('`preferred_ip_protocol`: DNS checks have no family');
  const request = {
    query: settings.text('query_name').replace(/\.$/, ''),
    recordType: isKnown ? recordType : 'A',
    protocol: /^tcp[46]?$/.test(settings.text('transport_protocol')) ? 'TCP' : 'UDP',
    assertions: [...codeAssertions(settings, entry), ...answerAssertions(settings, entry)],
  };
  return (target, _hostname, own) => {
    const address = addressOf(target);
    if (address === null || request.query === '') {
      own.notCarried(
        'the target is not a name server, or `query_name` is missing. Nothing was created',
      );
      return null;
    }
    return dnsCheck({ ...request, nameServer: address.host, port: address.port ?? 53 });
  };
};

/** By `prober`; the others have no counterpart. */
const probers: Readonly<Record<string, Prober>> = { http, tcp, icmp, dns };

/** Null, with a line, for a prober that has no counterpart. */
export function readModule(
  entry: Entry,
  given: Readonly<Record<string, unknown>>,
  timeoutSeconds: number,
): Module | null {
  const module = new SourceObject(given);
  const prober = module.text('prober');
  const make = lookUp(probers, prober);
  if (make === undefined) {
    entry.notCarried(
      `prober \`${prober}\` has no counterpart. Nothing was created for its targets`,
    );
    return null;
  }
  const settings = module.object(prober, proberDefaults);
  const check = make(settings, entry);
  module.get('timeout');
  entry.leftovers(module);
  return { entry, timeoutSeconds, check };
}

/** Modules of the configuration that comes with the exporter. */
export const standardModules: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  http_2xx: { prober: 'http' },
  tcp_connect: { prober: 'tcp' },
  icmp: { prober: 'icmp' },
};
