/** API check: an HTTP request with scripts before and after it, and assertions on the whole response. */
import { z } from 'zod';
import { sensitive } from '../sensitive.ts';
import { assertionSchema, comparison, maxAssertions } from '../assertion.ts';
import { inheritedFields, responseTimeLimits, scheduledCheckFields } from '../check.ts';
import { ipFamily, keyValuePair, listOf } from '../primitives.ts';
import {
  checkBodies,
  httpCertificates,
  type AgentCheckType,
  type Judging,
  type Measurement,
  type SourceReading,
} from './check-type.ts';
import { httpAnalytics } from './metric.ts';
import { readJson, readText } from './parsed-text.ts';
import { httpUrl, httpVersion, httpVerdict } from './url.ts';

const all = comparison.options as ['EQUALS'];

/** Sources of assertions, also for the defaults of a group. */
export const apiAssertion = assertionSchema([
  { source: 'STATUS_CODE', comparisons: all },
  { source: 'RESPONSE_TIME', comparisons: all },
  { source: 'JSON_BODY', comparisons: all },
  { source: 'TEXT_BODY', comparisons: all },
  { source: 'HEADERS', comparisons: all },
]);

export const basicAuth = z.object({
  username: z.string().max(1024).default(''),
  password: sensitive('secret', z.string().max(1024)).default(''),
});

/** Methods, body types and sources from the field's practice. spec: open */
export const apiRequest = z
  .object({
    method: z.enum(['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS']),
    url: sensitive('address', httpUrl),
    followRedirects: z.boolean().default(true),
    skipSSL: z.boolean().default(false),
    httpVersion: httpVersion.exactOptional(),
    ipFamily: ipFamily.default('IPv4'),
    body: z.string().max(262_144).default(''),
    bodyType: z.enum(['JSON', 'FORM', 'RAW', 'GRAPHQL', 'NONE']).default('NONE'),
    headers: listOf(keyValuePair, 100),
    queryParameters: listOf(keyValuePair, 100),
    assertions: listOf(apiAssertion, maxAssertions),
    basicAuth: basicAuth.nullable().default(null),
  })
  .meta({ id: 'ApiRequest' });
export type ApiRequest = z.output<typeof apiRequest>;

function headerOf(headers: unknown, name: string): string | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined;
  const wanted = name.toLowerCase();
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === wanted);
  return found === undefined ? undefined : String(found[1]);
}

function bodyOf({ wholeBody, response }: Measurement) {
  const type = headerOf(response?.['headers'], 'content-type') ?? 'no content type';
  return { text: wholeBody ?? response?.['body'], what: 'body', type };
}

/** Like URL monitors. In addition, a failed teardown script always fails the check. */
const apiVerdict: Judging<ApiRequest>['ownVerdict'] = (measurement, definition) =>
  measurement.laterFailure === undefined
    ? httpVerdict(measurement, definition)
    : { failed: measurement.laterFailure.message, degraded: null, isInvertible: false };

export const apiCheck: AgentCheckType<ApiRequest> = {
  runsOn: 'agents',
  pathPart: 'api',
  title: 'API check',
  label: 'API',
  target: '{request.url}',
  sample: { request: { method: 'GET', url: 'https://a.example/' } },
  ...checkBodies('API', {
    ...scheduledCheckFields,
    ...responseTimeLimits(5000, 20_000, 30_000),
    ...inheritedFields,
    request: apiRequest,
  }),
  ...httpCertificates,
  resultField: 'apiCheckResult',
  analytics: { ...httpAnalytics, operation: { path: 'api-checks', id: 'getApiCheckAnalytics' } },
  degradedBy: 'response-time',
  hasNetworkEvidence: true,
  sockets: 'ordinary',
  trace: null,
  address: null,
  learnsScripts: false,
  variables: 'all',
  isRetried: true,
  maxRunMs: 30_000,
  runtime: 'with-scripts',
  browser: 'never',
  storedBodyLimit: 8_192,
  judging: {
    hasResponseTimeLimits: true,
    readSource(assertion, measurement, extract) {
      const response = measurement.response;
      const one = (actual: unknown) => ({ actual, isList: false });
      const sources: Record<string, () => SourceReading> = {
        STATUS_CODE: () => one(response?.['status']),
        RESPONSE_TIME: () => one(measurement.responseTime ?? undefined),
        JSON_BODY: () => readJson(assertion, measurement, bodyOf(measurement), extract),
        TEXT_BODY: () => readText(assertion, measurement, bodyOf(measurement), extract),
        HEADERS: () => {
          const value = headerOf(response?.['headers'], assertion.property);
          return one(
            value === undefined ? undefined : extract.byRegex(value, assertion.regex ?? ''),
          );
        },
      };
      return sources[assertion.source]?.() ?? one(undefined);
    },
    ownVerdict: apiVerdict,
  },
};
