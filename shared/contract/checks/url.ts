/** URL monitor. Spec: URL monitor (`checkType` URL). */
import { z } from 'zod';
import { sensitive } from '../sensitive.ts';
import { assertionSchema, maxAssertions, numericComparisons } from '../assertion.ts';
import { inheritedFields, responseTimeLimits, scheduledCheckFields } from '../check.ts';
import { ipFamily, listOf } from '../primitives.ts';
import {
  checkBodies,
  httpCertificates,
  agentMonitorTraits,
  type AgentCheckType,
  type JudgedRequest,
  type Judging,
} from './check-type.ts';
import { HttpUrl } from '../../http-url.ts';
import { httpAnalytics } from './metric.ts';

/** An absolute http(s) URL, or a template for one. */
export const httpUrl = z
  .string()
  .min(1)
  .max(2048)
  .regex(/^(https?:\/\/\S|\{\{)/i, 'must start with http:// or https://')
  .refine((url) => url.includes('{{') || HttpUrl.canParse(url), 'must be a valid URL')
  .meta({ example: 'https://shop.example/health' });

/** The specification knows none: without it HTTP/1.1 is spoken. */
export const httpVersion = z
  .enum(['HTTP/1.1', 'HTTP/2'])
  .meta({ description: 'HTTP/2 needs `https`, and fails where the server does not offer it' });

/** Values of `method` and `ipFamily` from the field's practice. spec: open */
export const urlRequest = z
  .object({
    url: sensitive('address', httpUrl),
    method: z.literal('GET').default('GET'),
    followRedirects: z.boolean().default(true),
    skipSSL: z.boolean().default(false),
    httpVersion: httpVersion.exactOptional(),
    ipFamily: ipFamily.default('IPv4'),
    assertions: listOf(
      assertionSchema([{ source: 'STATUS_CODE', comparisons: numericComparisons }]),
      maxAssertions,
    ),
  })
  .meta({ id: 'UrlRequest' });
export type UrlRequest = z.output<typeof urlRequest>;

/**
 * A status of 400 or more, or one that HTTP does not have, fails unless an assertion checks the status. For URL monitors
 * and API checks.
 */
export const httpVerdict: Judging<JudgedRequest>['ownVerdict'] = (measurement, definition) => {
  const status = measurement.response?.['status'];
  const isJudgedByAssertion = definition.request.assertions.some(
    (assertion) => assertion.source === 'STATUS_CODE',
  );
  const isStatus = typeof status === 'number' && !isJudgedByAssertion;
  const isUnknown = isStatus && (status < 100 || status > 599);
  const remark = isUnknown ? ', which is no status of HTTP: those are 100 to 599' : '';
  return {
    failed: isUnknown || (isStatus && status >= 400) ? `HTTP ${status}${remark}` : null,
    degraded: null,
    isInvertible: measurement.failure === null,
  };
};

export const urlMonitor: AgentCheckType<UrlRequest> = {
  pathPart: 'url',
  title: 'URL monitor',
  label: 'URL',
  target: '{request.url}',
  sample: { request: { url: 'https://a.example/' } },
  ...checkBodies('URL', {
    ...scheduledCheckFields,
    ...responseTimeLimits(3000, 5000, 30_000),
    ...inheritedFields,
    request: urlRequest,
  }),
  ...agentMonitorTraits,
  ...httpCertificates,
  analytics: {
    ...httpAnalytics,
    operation: { path: 'url-monitors', id: 'getUrlMonitorAnalytics' },
  },
  variables: 'all',
  hasNetworkEvidence: true,
  trace: null,
  address: {
    form: 'http(s)://…',
    read: (url) =>
      /^https?:\/\//i.test(url)
        ? {
            request: {
              url,
              ...(/^https?:\/\/(?:[^/?#@]*@)?\[/i.test(url) ? { ipFamily: 'IPv6' } : {}),
            },
          }
        : null,
  },
  judging: {
    hasResponseTimeLimits: true,
    readSource: (_assertion, measurement) => ({
      actual: measurement.response?.['status'],
      isList: false,
    }),
    ownVerdict: httpVerdict,
  },
};
