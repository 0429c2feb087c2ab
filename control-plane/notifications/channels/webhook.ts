/** WEBHOOK: URL, headers, query parameters and body are templates. Spec: Events 4. */
import { decodedOrAsIs } from '@monitor/shared/http-url.ts';
import { inText, inUrl } from '@monitor/shared/templates/places.ts';
import { TemplateError } from '@monitor/shared/templates/template-error.ts';
import { attemptByHttp, cannotBeSent, nothingIsFinal } from '../attempt.ts';
import type { Channel, Transports, Notification, Variable, ConfigOf } from '../channel.ts';
import { oneLine } from '../../core/escape.ts';
import type { OutgoingRequest } from '../outgoing.ts';
import { alertVariables } from '../templates/alert-variables.ts';
import { templateProblem } from '../templates/check-template.ts';
import { renderTemplate, type TemplateScope } from '../templates/render-template.ts';
import type { TemplateValue } from '../templates/template-value.ts';
import { formatOf, placeOfBody } from '../templates/webhook-places.ts';
import { defaultBody } from './webhook-body.ts';
import { signatureHeaders } from './webhook-signature.ts';

export type WebhookConfig = ConfigOf<'WEBHOOK'>;

/** A field whose template cannot be rendered. */
class FieldError extends Error {}

/** Headers that belong to the HTTP connection. */
const ownHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const contentTypes = { json: 'application/json', text: 'text/plain; charset=utf-8' } as const;

/** The templates of a webhook, by field name. */
function templatesOf(config: WebhookConfig): [field: string, template: string][] {
  return [
    ['url', config.url],
    ...config.headers.map(({ value }, index): [string, string] => [
      `headers.${index}.value`,
      value,
    ]),
    ...config.queryParameters.flatMap(({ key, value }, index): [string, string][] => [
      [`queryParameters.${index}.key`, key],
      [`queryParameters.${index}.value`, value],
    ]),
    ...(config.template ? [['template', config.template] as [string, string]] : []),
  ];
}

/** A token of HTTP: every request with another name would fail, and its alert be lost. */
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/;

/** The first field with which no notification could be sent. */
export function brokenField(config: WebhookConfig): { field: string; problem: string } | null {
  const unnamed = config.headers.findIndex(({ key }) => !headerName.test(key.trim()));
  if (unnamed !== -1) {
    const problem = 'must be the name of a header: letters, digits and -';
    return { field: `headers.${unnamed}.key`, problem };
  }
  for (const [field, template] of templatesOf(config)) {
    const problem = templateProblem(template);
    if (problem !== null) return { field, problem: `cannot be completed: ${problem}` };
  }
  return null;
}

/** Encodes non-ASCII values as UTF-8 bytes, and removes line breaks. */
function headerValue(text: string): string {
  return Buffer.from(oneLine(text)).toString('latin1');
}

/** Removes user and password from a URL and gives them as an `Authorization` header. */
function takeAuthorization(url: URL): string | null {
  const { username, password } = url;
  if (username === '' && password === '') return null;
  url.username = '';
  url.password = '';
  const pair = `${decodedOrAsIs(username)}:${decodedOrAsIs(password)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

/** Normalises JSON, so that receivers that parse and print it before verifying get the same text. */
function compactJson(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body;
  }
}

interface Prepared {
  request: OutgoingRequest;
  credentials: string[];
}

function prepare(
  { id, facts, message }: Notification,
  config: WebhookConfig,
  transports: Transports,
  variables: readonly Variable[],
): Prepared {
  const about = alertVariables(facts, message, transports.publicUrl);
  const now = transports.clock.now();
  const scope: TemplateScope = {
    now,
    random: transports.random,
    newId: transports.newId,
    variables: new Map<string, TemplateValue>([
      ...variables.map(({ key, value }) => [key, value] as const),
      ...Object.entries(about),
    ]),
  };
  const complete: (field: string, ...of: Parameters<typeof renderTemplate>) => string = (
    field,
    ...of
  ) => {
    try {
      return renderTemplate(...of);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw new FieldError(`the template of "${field}" cannot be completed: ${error.message}`);
    }
  };

  const address = complete('url', config.url, scope, inUrl).trim();
  if (!URL.canParse(address)) throw new FieldError('"url" is not an address once it is complete');
  const url = new URL(address);
  url.hash = '';
  const credentials = [
    ...variables.filter(({ isHidden }) => isHidden).map(({ value }) => value),
    ...(config.webhookSecret ? [config.webhookSecret] : []),
    ...(url.password === '' ? [url.username] : [url.password]).map(decodedOrAsIs),
  ];
  const authorization = takeAuthorization(url);
  if (authorization !== null) credentials.push(authorization.slice('Basic '.length));
  for (const [index, { key, value, locked }] of config.queryParameters.entries()) {
    const text = complete(`queryParameters.${index}.value`, value, scope);
    if (locked) credentials.push(text);
    url.searchParams.append(complete(`queryParameters.${index}.key`, key, scope), text);
  }
  const given = config.headers.map(({ key, value, locked }, index): [string, string] => {
    const text = complete(`headers.${index}.value`, value, scope, inText);
    if (locked) credentials.push(text, ...text.split(' ').slice(1));
    return [key.trim().toLowerCase(), headerValue(text)];
  });

  const { method } = config;
  const template = config.template ?? '';
  const givenType = given.find(([name]) => name === 'content-type')?.[1];
  const format = template === '' ? 'json' : formatOf(template, givenType);
  const completed =
    template === ''
      ? defaultBody(config.webhookType ?? null, message, about)
      : complete('template', template, scope, placeOfBody(format));
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const isSigned = Boolean(config.webhookSecret);
  const body = hasBody ? (isSigned && format === 'json' ? compactJson(completed) : completed) : '';
  const signature = signatureHeaders({ id, body, secret: config.webhookSecret ?? null }, now);
  const replaced = new Set(signature.map(([name]) => name));
  return {
    credentials,
    request: {
      method,
      url,
      headers: [
        ['user-agent', 'monitor-notifications'],
        ...(hasBody && givenType === undefined
          ? [['content-type', format === 'json' ? contentTypes.json : contentTypes.text] as const]
          : []),
        ...(authorization === null || given.some(([name]) => name === 'authorization')
          ? []
          : [['authorization', authorization] as const]),
        ...given.filter(([name]) => !ownHeaders.has(name) && !replaced.has(name)),
        ...signature,
      ],
      body: hasBody ? body : null,
    },
  };
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

export const webhookChannel: Channel<WebhookConfig> = {
  pausesMs: [20_000, 20_000, 20_000, 20_000, 20_000],
  destination: ({ url }) => hostOf(url),
  async deliver(notification, config, transports) {
    const needsVariables = templatesOf(config).some(([, template]) => template.includes('{{'));
    try {
      const variables = needsVariables ? await transports.variables() : [];
      return await attemptByHttp({
        send: transports.outgoing.customer,
        ...prepare(notification, config, transports, variables),
        isFinal: nothingIsFinal,
        expected: config.expectedAnswer ?? '',
        now: transports.clock.now(),
        signal: transports.signal,
      });
    } catch (error) {
      if (error instanceof FieldError) return cannotBeSent(error.message);
      throw error;
    }
  },
};
