/** The monitor types of Uptime Kuma: what each becomes. */
import { recordType as recordTypes } from '@monitor/shared/contract/checks/dns.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import * as make from '../converted-check.ts';
import { assertion, type Assertion, adjacent } from '../decide/assertion.ts';
import { parseCodeRange, type CodeRange } from '../decide/status-codes.ts';
import { httpCheck, isWebAddress, type HttpParts } from '../http-request.ts';
import type { Entry } from '../plan.ts';
import { type Fields, isFields } from '@monitor/shared/fields.ts';
import { fieldsOf, lookUp, pairsIn, parsedJson } from '../source-object.ts';
import { type SourceObject, textOf } from '../source-object.ts';
import { jsonPathOf } from '../decide/json-path.ts';

type Of<T> = (monitor: SourceObject, entry: Entry) => T;
type MonitorType = Of<make.ConvertedCheck>;

/** Assertions for the accepted status codes; they also keep an error status from failing by itself. */
function statusAssertions(monitor: SourceObject, entry: Entry): readonly Assertion[] {
  const list: unknown = monitor.json('accepted_statuscodes_json');
  const given: unknown[] = Array.isArray(list) ? list : [null];
  const texts = given.filter((one) => typeof one === 'string');
  const ranges = texts.map(parseCodeRange).filter((range): range is CodeRange => range !== null);
  const hasOthers = ranges.length < given.length;
  entry.notCarried(hasOthers && '`accepted_statuscodes_json` has entries that are not codes');
  entry.deactivated(ranges.length === 0 && 'accepts no status code at all');
  return make.acceptedCodes(entry, ranges, `accepted ${texts.join(' and ')}.`);
}

/** The pairs of a JSON object in a field. */
export function pairsOf(source: SourceObject, entry: Entry, field: string): [string, string][] {
  const pairs = pairsIn(source.get(field));
  entry.notCarried(pairs === null && `\`${field}\` is not a JSON object`);
  return pairs ?? [];
}

/** What signs in, of what a request has. */
type Credentials = Pick<HttpParts, 'basicAuth'> & { headers?: [string, string][] };

const ofNtlm = ['basic_auth_user', 'basic_auth_pass', 'auth_domain', 'auth_workstation'];
const ofOauth = [
  ...['oauth_client_id', 'oauth_client_secret', 'oauth_token_url', 'oauth_scopes'],
  ...['oauth_auth_method', 'oauth_audience'],
];
const ofMtls = ['tls_cert', 'tls_key'];
export const credentialFields = [...ofNtlm, 'bearer_token', ...ofOauth, ...ofMtls];

/** A way that has no counterpart: its fields are not read. */
const without =
  (why: string, fields: readonly string[]): Of<Credentials> =>
  (monitor, entry) => {
    monitor.skip(...fields);
    entry.deactivated(why);
    return {};
  };

/** Ways to authenticate by `auth_method`; the credentials of other ways are not read. */
const credentialsBy: Readonly<Record<string, Of<Credentials>>> = {
  basic(monitor) {
    const [username = '', password = ''] = ofNtlm.map((field) => monitor.text(field));
    return { basicAuth: { username, password } };
  },
  bearer: (monitor) => ({ headers: [['Authorization', `Bearer ${monitor.text('bearer_token')}`]] }),
  ntlm: without(
    'signs in with NTLM (`basic_auth_user`, `basic_auth_pass`, `auth_domain`, `auth_workstation`), which is not offered here',
    ofNtlm,
  ),
  'oauth2-cc': without(
    'fetches a token with OAuth2 client credentials (`oauth_*`); a setup script of the check can do so',
    ofOauth,
  ),
  mtls: without(make.needsClientCertificate('`tls_cert`, `tls_key`, `tls_ca`'), [
    ...ofMtls,
    'tls_ca',
  ]),
};

const credentialsOf: Of<Credentials> = (monitor, entry) => {
  // Backups of old versions have credentials and no method: they knew basic authentication only.
  const isOld = !monitor.names().includes('auth_method') && monitor.has('basic_auth_user');
  const method = isOld ? 'basic' : monitor.text('auth_method');
  const read = lookUp(credentialsBy, method);
  const isUnknown = read === undefined && method !== '';
  entry.deactivated(isUnknown && `\`auth_method\` ${method} is not known`);
  return read?.(monitor, entry) ?? {};
};

/** Types of bodies by their encoding. XML sets a header. */
const encodings = { json: 'JSON', form: 'FORM', xml: 'RAW' } as const;
const ofXml: [string, string][] = [['Content-Type', 'text/xml; charset=utf-8']];

/** `IPv6` where the source wants it; everything else is IPv4. */
const ipFamilyOf = (monitor: SourceObject): IpFamily =>
  monitor.text('ip_family') === 'ipv6' ? 'IPv6' : 'IPv4';

function http(
  monitor: SourceObject,
  entry: Entry,
  further: readonly Assertion[] = [],
): make.ConvertedCheck {
  const method = monitor.text('method') || 'GET';
  const hasBody = !['GET', 'HEAD'].includes(method.toUpperCase()) || monitor.has('body');
  const encoding = monitor.text('http_body_encoding') || 'json';
  const bodyType = lookUp<'JSON' | 'FORM' | 'RAW'>(encodings, encoding);
  const isUnknown = bodyType === undefined;
  entry.notCarried(isUnknown && `\`http_body_encoding\` ${encoding} is not known`);
  const { basicAuth, headers = [] } = credentialsOf(monitor, entry);
  const own = pairsOf(monitor, entry, 'headers');
  const isSet = (name: string) => own.some(([key]) => key.toLowerCase() === name.toLowerCase());
  const body = hasBody ? monitor.text('body') : '';
  const implied = body !== '' && encoding === 'xml' ? ofXml : [];
  const redirects = monitor.number('maxredirects', 10);
  const isLimited = redirects !== 0 && redirects !== 10;
  entry.changed(isLimited && `follows ${redirects} redirects → follows up to 20`);
  return httpCheck(entry, {
    url: monitor.text('url'),
    method,
    headers: [...own, ...[...implied, ...headers].filter(([name]) => !isSet(name))],
    body,
    bodyType: bodyType ?? 'RAW',
    ...(basicAuth === undefined ? {} : { basicAuth }),
    followRedirects: redirects > 0,
    skipSSL: monitor.flag('ignore_tls'),
    ipFamily: ipFamilyOf(monitor),
    assertions: [...statusAssertions(monitor, entry), ...further],
  });
}

const keywordAssertion: Of<Assertion> = (monitor, entry) => {
  const keyword = entry.guardTemplate('the keyword', monitor.text('keyword'));
  const comparison = monitor.flag('invert_keyword') ? 'NOT_CONTAINS' : 'CONTAINS';
  return assertion('TEXT_BODY', comparison, keyword);
};

const keyword: MonitorType = (monitor, entry) => {
  const text = monitor.text('keyword');
  entry.deactivated(text === '' && 'has no keyword');
  // A JSON body that is written anew may have it, and the body as it was sent may not.
  entry.approximate(
    /[":,]/.test(text) &&
      'the keyword has quotes, colons or commas: Uptime Kuma searches JSON answers without their blanks, here the body is searched as it was sent',
  );
  return http(monitor, entry, [keywordAssertion(monitor, entry)]);
};

/** The number next to the target where that belongs to it: nothing lies between. */
const jsonComparisons: Readonly<Record<string, readonly [string, isAbove?: boolean]>> = {
  ...{ '==': ['EQUALS'], '!=': ['NOT_EQUALS'], '>': ['GREATER_THAN'], '<': ['LESS_THAN'] },
  ...{ '>=': ['GREATER_THAN', false], '<=': ['LESS_THAN', true], contains: ['CONTAINS'] },
};

/** Number texts that are equal as numbers and not as texts. */
const looseNumber = /^\s*[+-]?(0\d|\d*\.\d+$|\d+\.|\d+(\.\d+)?e)/i;

/** What a JSON query becomes; null, with a line, where it cannot be said. */
const queryAssertion: Of<Assertion | null> = (monitor, entry) => {
  const query = monitor.text('json_path');
  const operator = monitor.text('json_path_operator') || '==';
  const target = monitor.text('expected_value');
  const property = jsonPathOf(query);
  const [comparison, isAbove] = lookUp(jsonComparisons, operator) ?? [];
  const isNumber = target.trim() !== '' && Number.isFinite(Number(target));
  if (property === null) {
    entry.deactivated(
      `the JSON query \`${query}\` is JSONata beyond a plain path, which is not a JSONPath`,
    );
    return null;
  }
  if (comparison === undefined) {
    entry.deactivated(`the JSON query compares with \`${operator}\`, which is not known`);
    return null;
  }
  const isText = isAbove !== undefined && !isNumber;
  entry.deactivated(isText && `the JSON query compares \`${operator}\` with a text`);
  if (isAbove === undefined) {
    const asNumber = 'the expected value is compared as a number here, and as a text there';
    entry.approximate(looseNumber.test(target) && asNumber);
    const whole = entry.guardTemplate('the expected value', target);
    return assertion('JSON_BODY', comparison, whole, { property });
  }
  const limit = adjacent(Number(target), isAbove);
  entry.changed(
    `the JSON query \`${operator} ${target}\` → ${comparison} ${limit}, the number next to it`,
  );
  return assertion('JSON_BODY', comparison, limit, { property });
};

const jsonQuery: MonitorType = (monitor, entry) => {
  const assertion = queryAssertion(monitor, entry);
  entry.approximate(
    'JSON queries: a path through a list goes on in each element there, and a value that is a list, a map or null fails',
  );
  const check = http(monitor, entry, assertion === null ? [] : [assertion]);
  return { ...check, checkType: 'API' };
};

const grpcKeyword: MonitorType = (monitor, entry) => {
  const place = make.placeFor(entry, monitor.text('grpc_url'));
  const proto = monitor.text('grpc_protobuf');
  const service = monitor.text('grpc_service_name');
  const [, name = ''] = /^\s*package\s+([\w.]+)\s*;/m.exec(proto) ?? [];
  const isWhole = name === '' || service.startsWith(`${name}.`);
  entry.approximate('the keyword is searched in the message as JSON, whose blanks may differ');
  const config = {
    ...{ mode: 'BEHAVIOR', tls: monitor.flag('grpc_enable_tls') },
    method: `${isWhole ? '' : `${name}.`}${service}/${monitor.text('grpc_method')}`,
    ...{ serviceDefinition: 'PROTO_FILE', protoContent: proto, message: monitor.text('grpc_body') },
    metadata: make.secretPairs(entry, 'metadata', fieldsOf(monitor.json('grpc_metadata'))),
  };
  const settings = { skipSSL: monitor.flag('ignore_tls'), ipFamily: ipFamilyOf(monitor) };
  const assertions = [keywordAssertion(monitor, entry)];
  return make.grpcCheck(place, config, { ...settings, assertions });
};

/** A host without scheme and path. */
const hostOf: Of<string> = (monitor, entry) => {
  const given = monitor.text('hostname').trim();
  const host = given.replace(/^\[(.*)\]$/, '$1');
  return /^[^\s/]+$/.test(host)
    ? entry.guardTemplate('the host name', host)
    : entry.nothing('the host name is not usable');
};

const port: MonitorType = (monitor, entry) => {
  const hostname = hostOf(monitor, entry);
  const number = monitor.number('port');
  if (!Number.isInteger(number) || number < 1 || number > 65_535) {
    entry.nothing('the port is not between 1 and 65535');
  }
  const ofConnection = ': only the connection is proven, not the handshake';
  const ofAlert = ': expects the server to refuse a TLS handshake, which has no counterpart';
  entry.refuse(monitor, { smtp_security: ofConnection }, 'approximate');
  entry.refuse(monitor, { expected_tls_alert: ofAlert });
  return make.tcpCheck({ hostname, port: number }, ipFamilyOf(monitor));
};

const maxPings = 50;

const ping: MonitorType = (monitor, entry) => {
  const hostname = hostOf(monitor, entry);
  const count = Math.max(1, Math.round(monitor.number('ping_count', 1)));
  entry.changed(count > maxPings && `${count} echo requests → ${maxPings}`);
  return make.icmpCheck(hostname, ipFamilyOf(monitor), [], Math.min(count, maxPings));
};

/** Conditions joined by `and`; others contain a null. */
const conjunction = (given: unknown): (Fields | null)[] =>
  !Array.isArray(given)
    ? []
    : given.flatMap((one: unknown, index) => {
        if (!isFields(one) || (index > 0 && one['andOr'] === 'or')) return [null];
        return one['type'] === 'group' ? conjunction(one['children']) : [one];
      });

const dnsConditions: Of<Assertion[]> = (monitor, entry) => {
  const text = monitor.text('conditions');
  if (text === '') return [];
  const given = parsedJson(text);
  const all = conjunction(given);
  const isJoined = all.includes(null);
  entry.deactivated(
    !Array.isArray(given) && '`conditions` are not a JSON list',
    isJoined && '`conditions` are joined by `or`, which assertions cannot say',
  );
  return (isJoined ? [] : all).flatMap((condition) => {
    const [variable, operator, value] = ['variable', 'operator', 'value'].map((field) =>
      textOf(condition?.[field]),
    );
    // One record that matches is enough there.
    const isSame = variable === 'record' && operator === 'contains';
    entry.deactivated(
      !isSame && `condition \`${variable} ${operator}\` has no counterpart for several records`,
    );
    entry.approximate(
      isSame &&
        'the condition `record contains` searches the whole answer here, not one record after the other',
    );
    return isSame ? [assertion('TEXT_ANSWER', 'CONTAINS', value)] : [];
  });
};

const dns: MonitorType = (monitor, entry) => {
  const query = hostOf(monitor, entry);
  const recordType = (monitor.text('dns_resolve_type') || 'A').toUpperCase();
  const given = monitor.text('dns_resolve_server').split(',');
  const servers = given.map((server) => server.trim()).filter((server) => server !== '');
  const [nameServer, ...others] = servers;
  const port = monitor.number('port', 53) || 53;
  const assertions = dnsConditions(monitor, entry);
  if (!recordTypes.safeParse(recordType).success) {
    entry.nothing(`record type ${recordType} has no counterpart`);
  }
  entry.changed(others.length > 0 && `name servers ${servers.join(', ')} → the first one`);
  const server = { ...(nameServer === undefined ? {} : { nameServer }), port };
  return make.dnsCheck({ query, recordType, ...server, protocol: 'UDP', assertions });
};

/** Longest period and grace of heartbeats, in seconds. */
const yearSeconds = 365 * 86_400;
const minPeriodSeconds = 30;

const push: MonitorType = (monitor, entry) => {
  const interval = monitor.number('interval', 60);
  const retries = monitor.number('maxretries');
  const retryInterval = monitor.number('retry_interval') || interval;
  const token = monitor.text('push_token');
  const period = Math.min(Math.max(interval, minPeriodSeconds), yearSeconds);
  entry.changed(period !== interval && `a ping every ${interval} s → every ${period} s`);
  const isKept = /^[A-Za-z0-9_-]{12,64}$/.test(token);
  entry.changed(
    `jobs call another address (\`push_token\`): \`/api/push/<token>\` → \`/ping/<token>\`${isKept ? ' with the same token' : ' with a new token'}. Change every job. A call with \`status=down\` → \`/ping/<token>/fail\``,
  );
  const grace = Math.min(retries * retryInterval + 1, yearSeconds);
  return make.heartbeat(period, grace, isKept ? { pingToken: token } : {});
};

const realBrowser: MonitorType = (monitor, entry) => {
  const url = monitor.text('url');
  if (!isWebAddress(url)) entry.nothing('the URL is not a valid http or https address');
  const script = `const { test, expect } = require('@playwright/test');

test('opens the page', async ({ page }) => {
  const response = await page.goto(${JSON.stringify(url)});
  expect(response.status()).toBeGreaterThanOrEqual(200);
  expect(response.status()).toBeLessThan(400);
});
`;
  return { checkType: 'BROWSER', fields: { script } };
};

const globalping: MonitorType = (monitor, entry) => {
  const subtype = monitor.text('subtype');
  const convert =
    lookUp<MonitorType>({ http, ping, dns }, subtype) ??
    entry.nothing(`\`globalping\` of subtype ${subtype} has no counterpart`);
  entry.changed(
    `measured by Globalping at ${JSON.stringify(monitor.text('location'))} → at the locations of this import`,
  );
  return convert(monitor, entry);
};

/** By `monitor.type`. Types that are missing have no counterpart. */
export const monitorTypes: Readonly<Record<string, MonitorType>> = {
  ...{ http, keyword, port, ping, dns, push, globalping, 'json-query': jsonQuery },
  ...{ 'grpc-keyword': grpcKeyword, 'real-browser': realBrowser },
};
