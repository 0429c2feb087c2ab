/** Status pages, their services and subscriptions. Spec: Status page; Status page subscription. */
import { z } from 'zod';
import {
  customDomain,
  cursorPage,
  cursorQuery,
  pageSlug,
  pathId,
  queryBoolean,
  severity,
  timestamp,
  timezone,
  webLink,
} from './primitives.ts';
import { projectBindings } from './project-bindings.ts';
import { defineRoutes, get, post, remove, resourceOperations } from './route.ts';

const name = z.string().trim().min(1).max(255);
const optionalText = (max: number) => z.string().max(max).nullable();

const shownStates = z.enum([
  ...(['OPERATIONAL', 'DEGRADED_PERFORMANCE', 'PARTIAL_OUTAGE', 'MAJOR_OUTAGE'] as const),
]);
export const openedIncident = z
  .object({
    as: z.enum(['DRAFT', 'INCIDENT']).default('DRAFT').meta({
      description: 'A draft waits for a person to publish it; an incident is public at once',
    }),
    severity: severity.default('MAJOR'),
    name,
    description: z.string().max(65_536).default("We're investigating."),
    notifySubscribers: z.boolean().default(false),
  })
  .meta({
    description:
      'What it opens once its state is shown; services with one cause share one. Off: pages show the state alone',
  });
const follows = z
  .object({
    checkIds: z.array(z.uuid()).max(300).default([]).meta({ example: [] }),
    groupIds: z.array(z.int()).max(50).default([]).meta({ example: [] }),
    rule: z.enum(['ANY', 'MAJORITY', 'LOCATION']).default('ANY').meta({
      description: 'By the worst check, by more than half of them, or of their locations',
    }),
    failing: shownStates.default('MAJOR_OUTAGE'),
    degraded: shownStates.default('DEGRADED_PERFORMANCE'),
    afterMinutes: z.int().min(0).max(60).default(0).meta({
      description: 'How long it must last before pages show it; they look at the last 60 runs',
    }),
    opens: openedIncident.nullable().default(null),
  })
  .nullable()
  .meta({
    description:
      'Monitors and groups whose results decide its state, history and uptime; off: incidents alone',
  });
const stateOverride = z.object({ state: shownStates, until: timestamp }).nullable().meta({
  description: 'What status pages show in place of the state of its monitors, until a time',
});
const serviceBody = z.object({
  name,
  follows: follows.exactOptional(),
  stateOverride: stateOverride.exactOptional(),
});

export const service = z
  .object({
    name: z.string(),
    id: z.uuid(),
    accountId: z.uuid(),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'Service' });

/** As its own operations give it; cards and incidents name it alone. */
const followingService = service
  .extend({ follows, stateOverride })
  .meta({ id: 'FollowingService' });
export type ServiceBody = z.output<typeof serviceBody>;

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
  logoDark: webLink.nullable().exactOptional().meta({
    description: 'Instead of `logo` where the page is dark',
  }),
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
    logoDark: z.string().nullable(),
    version: z.literal(2),
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
    projectBindings,
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
const ofPage = { statusPageId: pathId };
const byPage = z.object(ofPage);

const previewName = z.string().max(255);

const subscriptionTag = 'Status page subscriptions';

export const statusPageRoutes = defineRoutes(tag, {
  ...resourceOperations('StatusPage', '/v1/status-pages', {
    by: ofPage,
    response: statusPage,
    list: { query: z.object(cursorQuery), response: cursorPage(statusPage) },
    create: { body: statusPageBody, errors: [402, 409] },
    beside: {
      previewStatusPage: post('/v1/status-pages/preview', 'The public page before it is saved', {
        onlyReads: true,
        description:
          'Rendered as visitors would see it, with the incidents of the page `statusPageId` and at most 200 services. Where there are neither services nor incidents it shows samples. Names may be empty. A logo at another host is left out: its name stands in its place.',
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
      }),
    },
    update: {
      description: '`cards` replaces all cards; other optional fields that are absent stay.',
      body: statusPageBody,
      errors: [409],
    },
    remove: { summary: 'Delete a status page and its subscriptions' },
  }),
  createStatusPagePassword: post(
    '/v1/status-pages/{statusPageId}/password',
    'Make a status page private, or give a private one a new password',
    {
      description:
        'The password is generated, and shown in this answer only. Visitors who signed in with an earlier one must sign in again.',
      params: byPage,
      response: z.object({ password: z.string() }),
    },
  ),
  deleteStatusPagePassword: remove(
    '/v1/status-pages/{statusPageId}/password',
    'Make a status page public',
    { params: byPage },
  ),
  verifyDomain: post(
    '/v1/status-pages/{statusPageId}/custom-domain/verify',
    'Check the proof of the domain of a status page now',
    {
      operationId: 'verifyStatusPageDomain',
      description:
        'It is also checked periodically: every minute at first, later less often. Once it is found, the page is served under its domain. The domain of another page moves here when the proof of that page is gone.',
      params: byPage,
      status: 200,
      response: statusPage,
    },
  ),
  listSubscriptions: get(
    '/v1/status-pages/{statusPageId}/subscriptions',
    'List who subscribed to a status page',
    {
      operationId: 'listStatusPageSubscriptions',
      tag: subscriptionTag,
      params: byPage,
      response: z.array(statusPageSubscription),
    },
  ),
  createSubscriptions: post(
    '/v1/status-pages/{statusPageId}/subscriptions/bulk',
    'Subscribe addresses to a status page; those that are subscribed are skipped',
    {
      operationId: 'createStatusPageSubscriptions',
      tag: subscriptionTag,
      description:
        'Each address gets a mail that asks for confirmation, and no other mails before that. With `autoVerify` no confirmation is needed, and an address that has unsubscribed by itself is skipped.',
      params: byPage,
      body: z.object({
        subscriptions: z
          .array(z.object({ type: z.enum(['EMAIL']).default('EMAIL'), config: emailAddress }))
          .min(1)
          .max(100),
        autoVerify: z.boolean().default(false),
      }),
      response: z.object({
        created: z.int(),
        skipped: z.int(),
        status: z.enum(['PENDING', 'VERIFIED']),
      }),
    },
  ),
  deleteSubscription: remove(
    '/v1/status-pages/{statusPageId}/subscriptions/{subscriptionId}',
    'End a subscription',
    {
      operationId: 'deleteStatusPageSubscription',
      tag: subscriptionTag,
      params: byPage.extend({ subscriptionId: pathId }),
    },
  ),
});
export const serviceRoutes = defineRoutes('Status page services', {
  ...resourceOperations('Service', '/v1/status-pages/services', {
    by: { serviceId: pathId },
    response: followingService,
    list: {
      description: 'With `paginated=false` all services come as one page.',
      query: z.object({ ...cursorQuery, paginated: queryBoolean.default(true) }),
      response: cursorPage(followingService),
    },
    create: { body: serviceBody },
    update: { summary: 'Change a service', body: serviceBody },
    remove: { summary: 'Delete a service; cards and incidents go without it' },
  }),
});

export type StatusPagePreviewBody = z.output<
  (typeof statusPageRoutes)['previewStatusPage']['body']
>;
