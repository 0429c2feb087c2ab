/** Status pages, their services and subscriptions. Spec: Status page; Status page subscription. */
import { z } from 'zod';
import {
  customDomain,
  cursorPage,
  cursorQuery,
  pageSlug,
  pathId,
  queryBoolean,
  timestamp,
  timezone,
  webLink,
} from './primitives.ts';
import { defineRoute } from './route.ts';

const name = z.string().trim().min(1).max(255);
const optionalText = (max: number) => z.string().max(max).nullable();

export const service = z
  .object({
    name: z.string(),
    id: z.uuid(),
    accountId: z.uuid(),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'Service' });

/** The twelve colours of a theme, in the order of the specification. */
export const themeColorNames = [
  'bodyBackgroundColor',
  'headerBackgroundColor',
  'headerFontColor',
  'titleFontColor',
  'bodyFontColor',
  'bodyFontColorMuted',
  'navigationFontColor',
  'linkFontColor',
  'cardBackgroundColor',
  'borderColor',
  'primaryButtonBackgroundColor',
  'primaryButtonFontColor',
] as const;

const color = z
  .string()
  .regex(/^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$/, 'must be a colour such as #0A66C2')
  .toUpperCase()
  .meta({ example: '#0A66C2' });
const theme = z
  .object(
    Object.fromEntries(themeColorNames.map((one) => [one, color])) as Record<
      (typeof themeColorNames)[number],
      typeof color
    >,
  )
  .meta({ id: 'ThemeColors' });
export const themeColors = z.object({ light: theme, dark: theme });

/** Languages of the texts of a page; its owner's own texts stay as they are. */
export const language = z.enum(['en', 'de', 'fr', 'es', 'ja', 'ar']).meta({ id: 'Language' });

const cardBody = z.object({
  id: z.string().min(1).max(64).exactOptional(),
  statusPageId: z.string().nullable().exactOptional(),
  name,
  services: z
    .array(z.object({ id: z.string().min(1) }))
    .max(200)
    .default([]),
});

const statusPageBody = z.object({
  name,
  url: pageSlug.meta({ description: 'Slug of the page on this installation' }),
  cards: z.array(cardBody).max(100),
  description: optionalText(500).exactOptional(),
  customDomain: customDomain.nullable().exactOptional(),
  themeColors: themeColors.nullable().exactOptional(),
  logo: webLink.nullable().exactOptional(),
  redirectTo: webLink
    .nullable()
    .exactOptional()
    .meta({ description: 'Link of the logo of the page' }),
  favicon: webLink.nullable().exactOptional(),
  defaultTheme: z.enum(['LIGHT', 'DARK', 'AUTO']).exactOptional(),
  language: language.exactOptional().meta({
    description:
      'Language of the page, its feeds and its mails; `en` by default. Names and descriptions stay as they are',
  }),
  languages: z.array(language).max(language.options.length).exactOptional().meta({
    description: 'Further languages that visitors may choose; their browser is asked first',
  }),
  timezone: timezone.exactOptional().meta({
    description: 'IANA time zone of the times and days of the page; `UTC` by default',
  }),
});
export type StatusPageBody = z.output<typeof statusPageBody>;

const card = z.object({
  id: z.string(),
  name: z.string(),
  created_at: timestamp,
  services: z.array(service),
  updated_at: timestamp.nullable(),
});

export const statusPage = z
  .object({
    id: z.uuid(),
    name: z.string(),
    url: z.string(),
    cards: z.array(card),
    description: z.string().nullable(),
    customDomain: z.string().nullable(),
    customDomainStatus: z
      .enum(['PENDING', 'VERIFIED'])
      .nullable()
      .meta({ description: 'The page is served under its domain once this is `VERIFIED`' }),
    customDomainChallenge: z
      .object({
        name: z.string(),
        txt: z.string(),
        cname: z.string().nullable(),
      })
      .nullable()
      .meta({
        description:
          'Proves the domain: a TXT record of this name with this text, or a CNAME record of this name that leads to this host',
      }),
    themeColors: themeColors.nullable(),
    logo: z.string().nullable(),
    redirectTo: z.string().nullable(),
    favicon: z.string().nullable(),
    defaultTheme: z.enum(['LIGHT', 'DARK', 'AUTO']),
    language,
    languages: z.array(language),
    timezone: z.string(),
    whiteLabel: z.boolean(),
    isPrivate: z.boolean(),
    accountId: z.uuid(),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'StatusPage' });

/** Mail address of a subscriber. */
export const emailAddress = z.email().max(320);

/** Spec: Status page subscription. */
export const statusPageSubscription = z
  .object({
    id: z.uuid(),
    type: z.enum(['EMAIL', 'WEBHOOK']),
    address: z.string().meta({
      description: 'Of a webhook only the host: its path may be a credential',
    }),
    status: z.enum(['PENDING', 'VERIFIED']),
    services: z
      .array(z.object({ id: z.uuid(), name: z.string() }))
      .nullable()
      .meta({
        description:
          'The services it is limited to, null for all of them. Empty when all that were chosen are gone: it then gets nothing',
      }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'StatusPageSubscription' });

const tag = 'Status pages';
const byPage = z.object({ statusPageId: pathId });
const serviceTag = 'Status page services';
const byService = z.object({ serviceId: pathId });

const listStatusPages = defineRoute({
  operationId: 'listStatusPages',
  method: 'GET',
  path: '/v1/status-pages',
  tag,
  summary: 'List status pages',
  authentication: 'apiKey',
  query: z.object(cursorQuery),
  status: 200,
  response: cursorPage(statusPage),
  errors: [400],
});

const createStatusPage = defineRoute({
  operationId: 'createStatusPage',
  method: 'POST',
  path: '/v1/status-pages',
  tag,
  summary: 'Create a status page',
  authentication: 'apiKey',
  body: statusPageBody,
  status: 201,
  response: statusPage,
  errors: [400, 402, 409],
});

const previewName = z.string().max(255);

const previewStatusPage = defineRoute({
  operationId: 'previewStatusPage',
  method: 'POST',
  path: '/v1/status-pages/preview',
  onlyReads: true,
  tag,
  summary: 'The public page before it is saved',
  description:
    'Rendered as visitors would see it, with the incidents of the page `statusPageId` and at most 200 services. Where there are neither services nor incidents it shows samples. Names may be empty. A logo at another host is left out: its name stands in its place.',
  authentication: 'apiKey',
  role: 'READ_ONLY',
  rateLimit: { requests: 60, seconds: 60 },
  body: z.object({
    ...statusPageBody.pick({
      ...{ description: true, themeColors: true, logo: true, redirectTo: true },
      ...{ defaultTheme: true, language: true, languages: true, timezone: true },
    }).shape,
    name: previewName,
    cards: z
      .array(z.object({ name: previewName, services: cardBody.shape.services }))
      .max(100)
      .default([]),
    statusPageId: pathId.exactOptional(),
    scheme: z.enum(['LIGHT', 'DARK']).default('LIGHT').meta({
      description: 'What the device of a visitor prefers',
    }),
  }),
  status: 200,
  response: z
    .object({
      html: z.string().meta({ description: 'The document without its style sheet' }),
      css: z.string(),
      hasSamples: z.boolean(),
    })
    .meta({ id: 'StatusPagePreview' }),
  errors: [400],
});
export type StatusPagePreviewBody = z.output<typeof previewStatusPage.body>;

const getStatusPage = defineRoute({
  operationId: 'getStatusPage',
  method: 'GET',
  path: '/v1/status-pages/{statusPageId}',
  tag,
  summary: 'Read a status page',
  authentication: 'apiKey',
  params: byPage,
  status: 200,
  response: statusPage,
  errors: [404],
});

const updateStatusPage = defineRoute({
  operationId: 'updateStatusPage',
  method: 'PUT',
  path: '/v1/status-pages/{statusPageId}',
  tag,
  summary: 'Change a status page',
  description: '`cards` replaces all cards; other optional fields that are absent stay.',
  authentication: 'apiKey',
  params: byPage,
  body: statusPageBody,
  status: 200,
  response: statusPage,
  errors: [400, 404, 409],
});

const deleteStatusPage = defineRoute({
  operationId: 'deleteStatusPage',
  method: 'DELETE',
  path: '/v1/status-pages/{statusPageId}',
  tag,
  summary: 'Delete a status page and its subscriptions',
  authentication: 'apiKey',
  params: byPage,
  status: 204,
  errors: [404],
});

const createStatusPagePassword = defineRoute({
  operationId: 'createStatusPagePassword',
  method: 'POST',
  path: '/v1/status-pages/{statusPageId}/password',
  tag,
  summary: 'Make a status page private, or give a private one a new password',
  description:
    'The password is generated, and shown in this answer only. Visitors who signed in with an earlier one must sign in again.',
  authentication: 'apiKey',
  params: byPage,
  status: 201,
  response: z.object({ password: z.string() }),
  errors: [404],
});

const deleteStatusPagePassword = defineRoute({
  operationId: 'deleteStatusPagePassword',
  method: 'DELETE',
  path: '/v1/status-pages/{statusPageId}/password',
  tag,
  summary: 'Make a status page public',
  authentication: 'apiKey',
  params: byPage,
  status: 204,
  errors: [404],
});

const listServices = defineRoute({
  operationId: 'listServices',
  method: 'GET',
  path: '/v1/status-pages/services',
  tag: serviceTag,
  summary: 'List services',
  description: 'With `paginated=false` all services come as one page.',
  authentication: 'apiKey',
  query: z.object({ ...cursorQuery, paginated: queryBoolean.default(true) }),
  status: 200,
  response: cursorPage(service),
  errors: [400],
});

const createService = defineRoute({
  operationId: 'createService',
  method: 'POST',
  path: '/v1/status-pages/services',
  tag: serviceTag,
  summary: 'Create a service',
  authentication: 'apiKey',
  body: z.object({ name }),
  status: 201,
  response: service,
  errors: [400],
});

const getService = defineRoute({
  operationId: 'getService',
  method: 'GET',
  path: '/v1/status-pages/services/{serviceId}',
  tag: serviceTag,
  summary: 'Read a service',
  authentication: 'apiKey',
  params: byService,
  status: 200,
  response: service,
  errors: [404],
});

const updateService = defineRoute({
  operationId: 'updateService',
  method: 'PUT',
  path: '/v1/status-pages/services/{serviceId}',
  tag: serviceTag,
  summary: 'Rename a service',
  authentication: 'apiKey',
  params: byService,
  body: z.object({ name }),
  status: 200,
  response: service,
  errors: [400, 404],
});

const deleteService = defineRoute({
  operationId: 'deleteService',
  method: 'DELETE',
  path: '/v1/status-pages/services/{serviceId}',
  tag: serviceTag,
  summary: 'Delete a service; cards and incidents go without it',
  authentication: 'apiKey',
  params: byService,
  status: 204,
  errors: [404],
});

const verifyDomain = defineRoute({
  operationId: 'verifyStatusPageDomain',
  method: 'POST',
  path: '/v1/status-pages/{statusPageId}/custom-domain/verify',
  tag,
  summary: 'Check the proof of the domain of a status page now',
  description:
    'It is also checked periodically: every minute at first, later less often. Once it is found, the page is served under its domain. The domain of another page moves here when the proof of that page is gone.',
  authentication: 'apiKey',
  params: byPage,
  status: 200,
  response: statusPage,
  errors: [404],
});

const subscriptionTag = 'Status page subscriptions';

const listSubscriptions = defineRoute({
  operationId: 'listStatusPageSubscriptions',
  method: 'GET',
  path: '/v1/status-pages/{statusPageId}/subscriptions',
  tag: subscriptionTag,
  summary: 'List who subscribed to a status page',
  authentication: 'apiKey',
  params: byPage,
  status: 200,
  response: z.array(statusPageSubscription),
  errors: [404],
});

const createSubscriptions = defineRoute({
  operationId: 'createStatusPageSubscriptions',
  method: 'POST',
  path: '/v1/status-pages/{statusPageId}/subscriptions/bulk',
  tag: subscriptionTag,
  summary: 'Subscribe addresses to a status page; those that are subscribed are skipped',
  description:
    'Each address gets a mail that asks for confirmation, and no other mails before that. With `autoVerify` no confirmation is needed.',
  authentication: 'apiKey',
  params: byPage,
  body: z.object({
    subscriptions: z
      .array(z.object({ type: z.enum(['EMAIL']).default('EMAIL'), config: emailAddress }))
      .min(1)
      .max(100),
    autoVerify: z.boolean().default(false),
  }),
  status: 201,
  response: z.object({
    created: z.int(),
    skipped: z.int(),
    status: z.enum(['PENDING', 'VERIFIED']),
  }),
  errors: [400, 404],
});

const deleteSubscription = defineRoute({
  operationId: 'deleteStatusPageSubscription',
  method: 'DELETE',
  path: '/v1/status-pages/{statusPageId}/subscriptions/{subscriptionId}',
  tag: subscriptionTag,
  summary: 'End a subscription',
  authentication: 'apiKey',
  params: byPage.extend({ subscriptionId: pathId }),
  status: 204,
  errors: [404],
});

export const statusPageRoutes = {
  listStatusPages,
  createStatusPage,
  previewStatusPage,
  getStatusPage,
  updateStatusPage,
  deleteStatusPage,
  createStatusPagePassword,
  deleteStatusPagePassword,
  verifyDomain,
  listSubscriptions,
  createSubscriptions,
  deleteSubscription,
};
export const serviceRoutes = {
  listServices,
  createService,
  getService,
  updateService,
  deleteService,
};
