/** Modules of the blackbox_exporter: what a target becomes that is probed with one. */
import { recordType as recordTypes } from '@monitor/shared/contract/checks/dns.ts';
import type { StartTls } from '@monitor/shared/contract/checks/ssl.ts';
import * as make from '../converted-check.ts';
import { assertion, type Assertion } from '../decide/assertion.ts';
import { httpCheck, typeByHeader } from '../http-request.ts';
import { noCounterpart, type Entry } from '../plan.ts';
import { fieldsOf, lookUp, SourceObject, textOf, type Fields } from '../source-object.ts';

export interface Module {
  entry: Entry;
  timeoutSeconds: number;
  check(target: string, hostname: string, entry: Entry): make.ConvertedCheck;
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
  const first = preferred === 'ip6' ? 'IPv6, then IPv4' : 'IPv4, then IPv6';
  entry.changed(hasFallback && `${first} (\`preferred_ip_protocol\`) → IPv4 only`);
  return 'IPv4';
}

/** Group 1 would be the value: the whole match is. */
const whole = (pattern: unknown) => `(${textOf(pattern)})`;

/** Of data line by line, without their ends. */
const inALine = (pattern: string) =>
  `(?m)${whole(pattern.replace(/(?<!\\)\$$/, String.raw`\r?$`))}`;

function bodyAssertions(settings: SourceObject): Assertion[] {
  const judge = (field: string, comparison: string) =>
    settings
      .texts(field)
      .map((pattern) => assertion('TEXT_BODY', comparison, '', { property: whole(pattern) }));
  return [
    ...judge('fail_if_body_matches_regexp', 'IS_NULL'),
    ...judge('fail_if_body_not_matches_regexp', 'NOT_NULL'),
  ];
}

function headerAssertions(settings: SourceObject, entry: Entry): Assertion[] {
  const judge = ({ header, regexp }: Fields, comparison: string) =>
    assertion('HEADERS', comparison, '', { property: textOf(header), regex: whole(regexp ?? '') });
  const mayMiss = (given: Fields) => given['allow_missing'] === true;
  const refused = settings.records('fail_if_header_matches').flatMap((given) => {
    const judged = judge(given, 'IS_NULL');
    // A header that is missing fails too, unless that is allowed.
    return [
      judged,
      ...(mayMiss(given) ? [] : [{ ...judged, comparison: 'NOT_NULL', regex: null }]),
    ];
  });
  const wanted = settings.records('fail_if_header_not_matches');
  entry.deactivated(
    wanted.some(mayMiss) &&
      '`fail_if_header_not_matches` with `allow_missing` accepts one of two things, which assertions cannot say',
  );
  const judged = wanted.filter((given) => !mayMiss(given)).map((given) => judge(given, 'NOT_NULL'));
  return [...refused, ...judged];
}

/** The first value of each header; values in files are not read. */
function headersOf(settings: SourceObject, entry: Entry): [string, string][] {
  const made = settings.pairs('headers');
  for (const [name, given] of Object.entries(settings.fields('http_headers'))) {
    const header = new SourceObject(fieldsOf(given));
    const [first, ...others] = [...header.texts('values'), ...header.texts('secrets')];
    if (first !== undefined) made.push([name, first]);
    entry.changed(others.length > 0 && `several values of header ${name} → the first one`);
    const ofFile = `header ${name} comes from a file: add it to the checks`;
    entry.deactivated(header.has('files') && ofFile);
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
  const ofFile = 'needs a credential from a file, which is not read: add it to the checks';
  entry.refuse(basic, { username_file: ofFile, password_file: ofFile });
  entry.refuse(authorization, { credentials_file: ofFile });
  entry.refuse(settings, { bearer_token_file: ofFile });
  const scheme = bearer === '' ? authorization.text('type') : 'Bearer';
  const token = bearer || credentials;
  return {
    basicAuth: username + password === '' ? null : { username, password },
    headers: token === '' ? [] : [['Authorization', `${scheme} ${token}`] as const],
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

/** True where HTTP/2 alone is accepted. A list with HTTP/1.1 as well refuses what hardly any server speaks. */
function wantsHttp2(settings: SourceObject, entry: Entry): boolean {
  const versions = settings.texts('valid_http_versions');
  const isUsual = versions.includes('HTTP/1.1') && versions.some((one) => /^HTTP\/2/.test(one));
  if (versions.length === 0) return false;
  if (versions.every((one) => /^HTTP\/2/.test(one)) && settings.flag('enable_http2')) return true;
  const field = `\`valid_http_versions\` ${versions.join(', ')}`;
  if (isUsual) entry.approximate(`${field}: the version is not judged, so HTTP/1.0 passes too`);
  else entry.deactivated(`judges the version of HTTP (${field})`);
  return false;
}

interface TlsSettings {
  serverName: string | null;
  skipChainValidation: boolean;
}

/** Settings of TLS that are paths of files, or have no counterpart. */
function reportTls(settings: SourceObject, entry: Entry): TlsSettings {
  const tls = settings.object('tls_config');
  const signsIn = tls.has('cert_file') || tls.has('cert');
  entry.deactivated(signsIn && make.needsClientCertificate('`tls_config.cert_file`'));
  const ofAgents = '`tls_config.ca_file`: authorities are a setting of the agents';
  entry.notCarried((tls.has('ca_file') || tls.has('ca')) && ofAgents);
  tls.skip('cert_file', 'cert', 'key_file', 'key', 'ca_file', 'ca');
  return {
    serverName: tls.text('server_name') || null,
    skipChainValidation: tls.flag('insecure_skip_verify'),
  };
}

/** The name of the server is that of the address in checks of HTTP and gRPC. */
function trustOf(settings: SourceObject, entry: Entry): TlsSettings {
  const tls = reportTls(settings, entry);
  entry.deactivated(tls.serverName !== null && '`tls_config.server_name` has no counterpart');
  return tls;
}

const http: Prober = (settings, entry) => {
  const codes = settings.list('valid_status_codes').map(Number);
  const assertions = make.acceptedCodes(
    entry,
    codes.length === 0 ? [[200, 299]] : codes.map((code) => [code, code] as const),
    `\`valid_status_codes\` ${codes.join(', ')}:`,
  );
  entry.refuse(settings, decisive);
  const isHttp2 = wantsHttp2(settings, entry);
  const tls = trustOf(settings, entry);
  const credentials = credentialsOf(settings, entry);
  const headers = [...headersOf(settings, entry), ...credentials.headers];
  const body = settings.text('body');
  const followRedirects =
    settings.flag('follow_redirects') && !settings.flag('no_follow_redirects');
  const needsTls = settings.flag('fail_if_not_ssl');
  const shared = {
    method: settings.text('method'),
    body,
    bodyType: typeByHeader(headers),
    basicAuth: credentials.basicAuth,
    followRedirects,
    skipSSL: tls.skipChainValidation,
    ...(isHttp2 ? { httpVersion: 'HTTP/2' as const } : {}),
    ipFamily: ipFamilyOf(settings, entry),
    assertions: [...assertions, ...bodyAssertions(settings), ...headerAssertions(settings, entry)],
  };
  return (target, hostname, own) => {
    const url = /^[a-z]+:\/\//i.test(target) ? target : `http://${target}`;
    const isSecure = /^https:/i.test(url);
    const redirected = '`fail_if_not_ssl`: a redirect to http is followed here, and passes';
    own.approximate(needsTls && isSecure && followRedirects && redirected);
    own.deactivated(
      isHttp2 && !isSecure && '`valid_http_versions`: HTTP/2 needs https here',
      needsTls && !isSecure && '`fail_if_not_ssl` fails for an http address',
      hostname !== '' && isSecure && `the name ${hostname} for TLS (\`hostname\`)${noCounterpart}`,
    );
    const sent = hostname === '' ? headers : [...headers, ['Host', hostname] as const];
    const check = httpCheck(own, { ...shared, url, headers: sent }, entry);
    const server = make.tlsServerOf(url, { ...tls, serverName: hostname || tls.serverName });
    return server === null ? check : { ...check, server };
  };
};

type Steps = readonly Fields[];

/** What is sent just before TLS begins: text, or the digits of bytes. */
const beginTls: readonly [RegExp, StartTls][] = [
  [/^STARTTLS\s*$/i, 'SMTP'],
  [/^\S+ STARTTLS\s*$/i, 'IMAP'],
  [/^STLS\s*$/i, 'POP3'],
  [/^AUTH TLS\s*$/i, 'FTP'],
  [/^<starttls\s/i, 'XMPP'],
  [/^0000000804d2162f$/, 'POSTGRES'],
];

/** The protocol in which the dialogue begins TLS, which agents lead by themselves, and what follows. */
function startTlsOf(steps: Steps): { startTls: StartTls | null; after: Steps } {
  const none = { startTls: null, after: steps };
  const at = steps.findIndex(({ starttls }) => starttls === true);
  if (at < 0) return none;
  const sent = steps
    .slice(0, at)
    .flatMap(({ send }) => (send instanceof Uint8Array ? Buffer.from(send).toString('hex') : send))
    .filter((send) => typeof send === 'string');
  const [, startTls] = beginTls.find(([pattern]) => pattern.test(sent.at(-1) ?? '')) ?? [];
  // Other protocols have the same word, and another greeting.
  const isKnown = startTls !== 'SMTP' || sent.some((text) => /^(EHLO|HELO)\b/i.test(text));
  return startTls === undefined || !isKnown ? none : { startTls, after: steps.slice(at + 1) };
}

/** What is sent and expected, where one exchange says it all; null for a longer dialogue. */
function exchangeOf(all: Steps) {
  const last = all.findLastIndex(({ expect }) => expect !== undefined);
  const steps = last < 0 ? all : all.slice(0, last + 1);
  const sendsAfter = all.slice(steps.length).some((step) => step['send'] !== undefined);
  const isText = (value: unknown) => value === undefined || typeof value === 'string';
  const isPlain = all.every(
    ({ starttls, expect_bytes: bytes, send, expect }) =>
      starttls !== true && bytes === undefined && isText(send) && isText(expect),
  );
  const textsOf = (field: string) => steps.flatMap((step) => step[field] ?? []) as string[];
  const [send, ...laterSends] = textsOf('send');
  const [expect, ...laterExpects] = textsOf('expect');
  const isOne = steps.length <= 2 && laterSends.length + laterExpects.length === 0;
  if (!isPlain || !isOne || send?.includes('${') === true) return null;
  const at = (field: string) => steps.findIndex((step) => step[field] !== undefined);
  const sendsFirst = send !== undefined && (expect === undefined || at('send') < at('expect'));
  return {
    ...{ send: sendsFirst ? send : null, expect: expect ?? null },
    sendsLast: sendsAfter || (send !== undefined && !sendsFirst),
  };
}

const tcp: Prober = (settings, entry) => {
  const steps = settings.records('query_response');
  const { startTls, after } = startTlsOf(steps);
  const exchange = exchangeOf(after);
  const isAtOnce = settings.flag('tls');
  const isTls = isAtOnce || startTls !== null;
  entry.approximate(
    startTls !== null &&
      `\`query_response\`: TLS begins by the dialogue of ${startTls}; texts that are expected before it are not compared`,
    exchange?.sendsLast === true &&
      '`query_response`: what is sent after the expected text is left out',
  );
  entry.deactivated(
    exchange === null &&
      '`query_response` is a dialogue of several steps; one question and its answer are possible',
    isAtOnce &&
      steps.length > 0 &&
      '`tls` with `query_response`: the dialogue is not led over TLS here',
  );
  entry.notCarried(
    steps.some((step) => step['labels'] !== undefined) &&
      '`query_response.labels`: texts of an answer do not become labels',
  );
  if (!isTls) entry.refuse(settings, { tls_config: ' has no effect without `tls`' }, 'notCarried');
  const tls = isTls ? reportTls(settings, entry) : null;
  const begins = startTls === null ? {} : { startTls };
  const isJudged = after.length > 0 && startTls !== null;
  entry.deactivated(
    isJudged &&
      (tls?.serverName != null || tls?.skipChainValidation === true) &&
      '`tls_config` with `starttls`: the certificate of the host name is verified here',
  );
  const ipFamily = ipFamilyOf(settings, entry);
  const expected =
    exchange?.expect == null
      ? []
      : [assertion('RESPONSE_DATA', 'NOT_EMPTY', '', { property: inALine(exchange.expect) })];
  return (target, _hostname, own) => {
    const place = make.placeFor(own, target);
    const server = tls === null ? null : { ...place, ...tls, ...begins };
    if (server !== null && after.length === 0)
      return { ...make.sslCheck(server, ipFamily, null), server };
    const data = exchange?.send == null ? {} : { data: `${exchange.send}\n` };
    const made = make.tcpCheck(place, ipFamily, { ...begins, ...data, assertions: expected });
    return server === null ? made : { ...made, server };
  };
};

const icmp: Prober = (settings, entry) => {
  entry.refuse(settings, { ttl: 'a low limit of hops decides whether the target is reached' });
  const ipFamily = ipFamilyOf(settings, entry);
  return (target, _hostname, own) =>
    make.icmpCheck(make.placeFor(own, target, 0).hostname, ipFamily);
};

/** Without a port, that of HTTP. */
const grpc: Prober = (settings, entry) => {
  const tls = settings.flag('tls');
  const { skipChainValidation: skipSSL } = trustOf(settings, entry);
  const given = Object.entries(settings.fields('metadata'));
  const first = Object.fromEntries(given.map(([key, values]) => [key, [values].flat()[0]]));
  const metadata = make.secretPairs(entry, 'metadata', first);
  const config = { mode: 'HEALTH', tls, service: settings.text('service'), metadata };
  const ipFamily = ipFamilyOf(settings, entry);
  return (target, _hostname, own) => {
    const place = make.placeFor(own, target, tls ? 443 : 80);
    return make.grpcCheck(place, config, { skipSSL, ipFamily, assertions: [] });
  };
};

const returnCodes = [
  ...['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED', 'YXDOMAIN', 'YXRRSET'],
  ...['NXRRSET', 'NOTAUTH', 'NOTZONE'],
];

/** A pattern that looks at more of a record than its value. */
const seesWholeRecord = /\\t|\t|\bIN\b/;

function answerAssertions(settings: SourceObject, entry: Entry): Assertion[] {
  const answer = settings.object('validate_answer_rrs');
  const judge = (field: string, comparison: string) =>
    answer.texts(field).flatMap((pattern) => {
      const isWider = seesWholeRecord.test(pattern);
      entry.deactivated(isWider && `\`${field}\` looks at the TTL or the class of records`);
      const inWhole = `\`${field}\` searches the whole answer here, not one record after the other`;
      entry.approximate(!isWider && inWhole);
      const made = assertion('TEXT_ANSWER', comparison, '', { property: whole(pattern) });
      return isWider ? [] : [made];
    });
  const all = 'judges each record, which has no counterpart';
  const lost = { fail_if_all_match_regexp: all, fail_if_not_matches_regexp: all };
  entry.refuse(answer, lost, 'deactivated', 'validate_answer_rrs.');
  return [
    ...judge('fail_if_matches_regexp', 'IS_EMPTY'),
    ...judge('fail_if_none_matches_regexp', 'NOT_EMPTY'),
  ];
}

function codeAssertions(settings: SourceObject, entry: Entry): Assertion[] {
  const codes = settings.texts('valid_rcodes');
  if (codes.length <= 1) return codes.map((code) => assertion('RESPONSE_CODE', 'EQUALS', code));
  entry.approximate(`\`valid_rcodes\` ${codes.join(', ')}: every other known code is refused`);
  return returnCodes
    .filter((code) => !codes.includes(code))
    .map((code) => assertion('RESPONSE_CODE', 'NOT_EQUALS', code));
}

const dns: Prober = (settings, entry) => {
  const recordType = (settings.text('query_type') || 'ANY').toUpperCase();
  const isKnown = recordTypes.safeParse(recordType).success;
  const isAlone = !settings.flag('recursion_desired');
  entry.deactivated(isAlone && '`recursion_desired: false` has no counterpart');
  entry.deactivated(!isKnown && `\`query_type\` ${recordType} has no counterpart: A is asked for`);
  entry.refuse(settings, {
    query_class: noCounterpart,
    dns_over_tls: 'asks over TLS',
    validate_authority_rrs: 'judges records beside the answer',
    validate_additional_rrs: 'judges records beside the answer',
  });
  const ipFamily = ipFamilyOf(settings, entry);
  const hasFamily = ipFamily === 'IPv6';
  entry.notCarried(hasFamily && '`preferred_ip_protocol`: DNS checks have no family');
  const request = {
    query: settings.text('query_name').replace(/\.$/, ''),
    recordType: isKnown ? recordType : 'A',
    protocol: /^tcp[46]?$/.test(settings.text('transport_protocol')) ? 'TCP' : 'UDP',
    assertions: [...codeAssertions(settings, entry), ...answerAssertions(settings, entry)],
  };
  return (target, _hostname, own) => {
    if (request.query === '') own.nothing('`query_name` is missing');
    const { hostname, port } = make.placeFor(own, target, 53);
    return make.dnsCheck({ ...request, nameServer: hostname, port });
  };
};

/** By `prober`; the others have no counterpart. */
const probers: Readonly<Record<string, Prober>> = { http, tcp, icmp, dns, grpc };

export function readModule(entry: Entry, given: Fields, timeoutSeconds: number): Module {
  const module = new SourceObject(given);
  const prober = module.text('prober');
  const read = lookUp(probers, prober);
  if (read === undefined) return entry.nothing(`prober \`${prober}\` has no counterpart`);
  const settings = module.object(prober, proberDefaults);
  const check = read(settings, entry);
  module.skip('timeout');
  entry.leftovers(module);
  return { entry, timeoutSeconds, check };
}

/** Modules of the configuration that comes with the exporter. */
export const standardModules: Readonly<Record<string, Fields>> = {
  http_2xx: { prober: 'http' },
  tcp_connect: { prober: 'tcp' },
  icmp: { prober: 'icmp' },
};
