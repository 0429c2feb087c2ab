/** A request as the `http` prober makes it, by the same code as URL and API checks. */
import { readFileSync } from 'node:fs';
import { headerOf, withDefaults } from '../net/http/headers.ts';
import { ConnectionTrail } from '../net/connection-trail.ts';
import { requestHttp, type Hop, type HttpOutcome } from '../net/http/chain.ts';
import { basicCredentials } from '../net/http/proxy.ts';
import { chooseAddress } from './choose-address.ts';
import type { HttpModule } from './module-schema.ts';
import { reportRegex, type ProbeReport } from './report.ts';
import type { ProbeSurroundings } from './surroundings.ts';
import { reportTls, secureContextFor } from './tls-facts.ts';

/** What patterns are matched against is kept in memory. */
const maxBodyBytes = 25_000_000;

const phases = ['resolve', 'connect', 'tls', 'processing', 'transfer'] as const;

/** Credentials and files of the module; files are read for each probe, as secrets are renewed. */
function headersOf(module: HttpModule): Record<string, string> {
  const fromFile = (path: string | undefined, text: string | undefined): string =>
    text ?? (path === undefined ? '' : readFileSync(path, 'utf8').trim());
  const { basic_auth: basic, authorization: other } = module;
  const headers: Record<string, string> = { 'User-Agent': 'monitor-agent/1.0' };
  if (basic !== undefined) {
    const password = fromFile(basic.password_file, basic.password);
    headers['Authorization'] = basicCredentials(basic.username, password);
  } else if (other !== undefined) {
    headers['Authorization'] =
      `${other.type} ${fromFile(other.credentials_file, other.credentials)}`;
  } else if (module.bearer_token !== undefined || module.bearer_token_file !== undefined) {
    headers['Authorization'] = `Bearer ${fromFile(module.bearer_token_file, module.bearer_token)}`;
  }
  if (module.compression !== '') headers['Accept-Encoding'] = module.compression;
  return withDefaults(headers, module.headers);
}

/** Seconds of a phase, summed over the requests of the chain. */
function reportPhase(report: ProbeReport, phase: string, ms: number): void {
  report.set(
    'probe_http_duration_seconds',
    'Duration of http request by phase, summed over all redirects',
    ms / 1000,
    { phase },
  );
}

function reportDurations(report: ProbeReport, lookupMs: number, hops: readonly Hop[]): void {
  const sums = { resolve: lookupMs, connect: 0, tls: 0, processing: 0, transfer: 0 };
  for (const { begunAt, lookedUpAt, exchange } of hops) {
    sums.resolve += lookedUpAt - begunAt;
    const times = exchange?.times;
    if (times?.connect == null) continue;
    sums.connect += times.connect - lookedUpAt;
    if (times.secureConnect !== null) sums.tls += times.secureConnect - times.connect;
    if (times.response === null) continue;
    sums.processing += times.response - (times.secureConnect ?? times.connect);
    if (times.end !== null) sums.transfer += times.end - times.response;
  }
  for (const phase of phases) reportPhase(report, phase, sums[phase]);
}

function reportResponse(report: ProbeReport, outcome: HttpOutcome | null, redirects: number) {
  const response = outcome?.response ?? null;
  const length = headerOf((response?.headers ?? {}) as Record<string, string>, 'content-length');
  const set = (name: string, help: string, value: number): void => {
    report.set(`probe_http_${name}`, help, value);
  };
  set('status_code', 'Response HTTP status code', response?.status ?? 0);
  set(
    'content_length',
    'Length of http content response',
    response === null ? 0 : length === undefined ? -1 : Number(length),
  );
  set('uncompressed_body_length', 'Length of uncompressed response body', response?.size ?? 0);
  set('redirects', 'The number of redirects', redirects);
  set(
    'ssl',
    'Indicates if SSL was used for the final redirect',
    response !== null && outcome?.url.protocol === 'https:' ? 1 : 0,
  );
  set(
    'version',
    'Returns the version of HTTP of the probe response',
    Number(response?.httpVersion ?? 0),
  );
  const modified = Date.parse(response?.headers['last-modified'] ?? '');
  if (!Number.isNaN(modified)) {
    set(
      'last_modified_timestamp_seconds',
      'Returns the Last-Modified HTTP response header in unixtime',
      modified / 1000,
    );
  }
}

/** Why the response is not what the module asks for; `byPattern` when a pattern says so. */
function problemOf(
  module: HttpModule,
  outcome: HttpOutcome,
  body: string,
): { why: string; byPattern: boolean } | null {
  const { response } = outcome;
  if (response === null) return { why: 'no response', byPattern: false };
  const { status, httpVersion, headers } = response;
  const codes = module.valid_status_codes;
  const isStatusFine = codes.length > 0 ? codes.includes(status) : status >= 200 && status < 300;
  if (!isStatusFine) return { why: `status ${status}`, byPattern: false };
  const byPattern = (why: string) => ({ why, byPattern: true });
  const valueOf = (name: string) => {
    const value = headers[name.toLowerCase()];
    return Array.isArray(value) ? value.join(', ') : value;
  };
  for (const { header, regexp, allow_missing: mayMiss } of module.fail_if_header_matches) {
    const value = valueOf(header);
    if (value === undefined && !mayMiss) return byPattern(`header ${header} is missing`);
    if (value !== undefined && regexp.matcher(value).find()) {
      return byPattern(`header ${header} matches`);
    }
  }
  for (const { header, regexp, allow_missing: mayMiss } of module.fail_if_header_not_matches) {
    const value = valueOf(header);
    if (value === undefined && !mayMiss) return byPattern(`header ${header} is missing`);
    if (value !== undefined && !regexp.matcher(value).find()) {
      return byPattern(`header ${header} does not match`);
    }
  }
  for (const [index, regexp] of module.fail_if_body_matches_regexp.entries()) {
    if (regexp.matcher(body).find()) return byPattern(`the body matches pattern ${index + 1}`);
  }
  for (const [index, regexp] of module.fail_if_body_not_matches_regexp.entries()) {
    if (!regexp.matcher(body).find()) return byPattern(`the body lacks pattern ${index + 1}`);
  }
  const versions = module.valid_http_versions;
  if (versions.length > 0 && !versions.includes(`HTTP/${httpVersion}`)) {
    return { why: `HTTP version ${httpVersion}`, byPattern: false };
  }
  const isSecure = outcome.url.protocol === 'https:';
  if (isSecure && module.fail_if_ssl) return { why: 'the last request was TLS', byPattern: false };
  if (!isSecure && module.fail_if_not_ssl) {
    return { why: 'the last request was not TLS', byPattern: false };
  }
  return null;
}

function urlOf(target: string): URL | null {
  const text = /^https?:\/\//i.test(target) ? target : `http://${target}`;
  return URL.canParse(text) ? new URL(text) : null;
}

/** A module that accepts other versions is satisfied with HTTP/1.1. */
const wantsHttp2 = ({
  enable_http2: isOn = true,
  valid_http_versions: versions,
}: HttpModule): boolean =>
  isOn && versions.length > 0 && versions.every((version) => version.startsWith('HTTP/2'));

/** Gives whether the probe succeeded. Throws an AgentError where the target is not the cause. */
export async function probeHttp(
  target: string,
  module: HttpModule,
  report: ProbeReport,
  surroundings: ProbeSurroundings,
): Promise<boolean> {
  const { clock, signal, timeoutMs, hostname } = surroundings;
  const begunAt = clock.monotonic();
  reportRegex(report, 0);
  const url = urlOf(target);
  if (url === null) report.note('the target is not a URL');
  const { address, lookupMs } =
    url === null
      ? { address: null, lookupMs: 0 }
      : await chooseAddress(url.hostname, module, clock, report);
  if (url === null || address === null) {
    reportPhase(report, 'resolve', lookupMs);
    reportResponse(report, null, 0);
    return false;
  }
  const given = headersOf(module);
  const host = headerOf(given, 'host') ?? hostname ?? undefined;
  const serverName = module.tls_config?.server_name ?? host?.replace(/:\d+$/, '');
  const follows = module.follow_redirects ?? !(module.no_follow_redirects ?? false);
  const hasPatterns =
    module.fail_if_body_matches_regexp.length + module.fail_if_body_not_matches_regexp.length > 0;
  const { body_size_limit: limit, body_file: bodyFile } = module;
  const body = bodyFile === undefined ? module.body : readFileSync(bodyFile);
  const outcome = await requestHttp(
    {
      method: module.method,
      url,
      address,
      headers: host === undefined ? given : { ...given, host },
      body: body === undefined ? null : Buffer.from(body),
      followRedirects: follows,
      isHttp2: wantsHttp2(module) && url.protocol === 'https:',
      skipSsl: module.tls_config?.insecure_skip_verify ?? false,
      ipFamily: address.family,
      secureContext: secureContextFor(module.tls_config),
      ...(serverName === undefined ? {} : { serverName }),
      trail: new ConnectionTrail(clock),
      onSecure(socket) {
        reportTls(report, socket);
      },
      keepBytes: () => (hasPatterns ? maxBodyBytes : 0),
      stopBytes: limit === 0 ? Number.POSITIVE_INFINITY : limit + 1,
    },
    {
      ...{ clock, signal, clientCertificates: [] },
      timeoutMs: Math.max(1, timeoutMs - (clock.monotonic() - begunAt)),
      proxyUrl: module.proxy_url ?? null,
      log: (message) => report.note(message),
    },
  );
  reportDurations(report, lookupMs, outcome.hops);
  const { response, failure } = outcome;
  // Where redirects are not followed, the first one still counts.
  const isRedirect = (response?.status ?? 0) >= 300 && response?.headers.location !== undefined;
  reportResponse(report, outcome, !follows && isRedirect ? 1 : outcome.redirects);
  if (failure !== null) {
    report.note(failure.message);
    return false;
  }
  if (limit > 0 && (response?.size ?? 0) > limit) {
    report.note(`the body is over the limit of ${limit} bytes`);
    return false;
  }
  const problem = problemOf(module, outcome, response?.bytes.toString('utf8') ?? '');
  if (problem === null) return true;
  report.note(problem.why);
  if (problem.byPattern) reportRegex(report, 1);
  return false;
}
