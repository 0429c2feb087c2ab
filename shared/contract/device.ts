/** Devices of the person that calls, which get notifications by Web Push (RFC 8030, 8291 and 8292). */
import { z } from 'zod';
import { channelTest } from './alert-delivery.ts';
import { pathInteger, timestamp } from './primitives.ts';
import { defineRoutes, get, post, remove } from './route.ts';
import { sensitive } from './sensitive.ts';

const ofPeople = 'Only for people who have signed in: a key has none (404).';
const byId = z.object({ id: pathInteger });

/** `PushSubscription.toJSON()` of the browser. */
export const pushSubscription = z.object({
  endpoint: sensitive(
    'capability',
    z
      .url({ protocol: /^https$/, error: 'must be a URL that begins with https://' })
      .max(1_024)
      .meta({ example: 'https://push.example.com/send/c9f3' }),
  ),
  keys: z.object({
    p256dh: sensitive('secret', z.string().regex(/^[\w-]{87}=?$/)).meta({
      example:
        'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    }),
    auth: sensitive('secret', z.string().regex(/^[\w-]{22}(==)?$/)).meta({
      example: 'BTBZMqHH6r4Tts7J_aSIgg',
    }),
  }),
});

export const device = z
  .object({
    id: z.int(),
    name: z.string(),
    endpointHash: z
      .string()
      .meta({ description: 'SHA-256 of the endpoint in hex: a browser knows itself by it' }),
    isOfThisSession: z
      .boolean()
      .meta({ description: 'Whether it is removed when the session that asks is ended' }),
    lastSuccessAt: timestamp.nullable().meta({ description: 'When it last took a notification' }),
    created_at: timestamp,
  })
  .meta({ id: 'Device' });

export const deviceRoutes = defineRoutes('Profile', {
  getMyDevices: get('/v1/users/me/devices', 'List the own devices that get notifications', {
    description: `${ofPeople} Of the account of the session, the oldest first.`,
    response: z
      .object({
        publicKey: z
          .string()
          .meta({ description: '`applicationServerKey` for `PushManager.subscribe`' }),
        devices: z.array(device),
      })
      .meta({ id: 'Devices' }),
    errors: [404],
  }),
  addMyDevice: post('/v1/users/me/devices', 'Turn on notifications on a device', {
    description: `${ofPeople} The device gets what escalation policies send to the person. It is removed when the session that added it last is ended, when the person leaves the account, and when its push service answers 404 or 410. A device that is there already is changed, and one of somebody else is taken over.`,
    role: 'READ_ONLY',
    rateLimit: { requests: 20, seconds: 600 },
    body: z.object({
      name: z.string().trim().min(1).max(100).meta({ example: 'Chrome on Android' }),
      subscription: pushSubscription,
    }),
    response: device,
    errors: [404, 409],
  }),
  testMyDevice: post('/v1/users/me/devices/{id}/test', 'Send a test to a device', {
    description: `${ofPeople} Tried once. The answer has the outcome, or IN_PROGRESS when there is none within ten seconds.`,
    role: 'READ_ONLY',
    rateLimit: { requests: 20, seconds: 60 },
    params: byId,
    status: 200,
    response: channelTest,
    errors: [429],
  }),
  removeMyDevice: remove('/v1/users/me/devices/{id}', 'Turn off notifications on a device', {
    description: ofPeople,
    role: 'READ_ONLY',
    params: byId,
  }),
});
