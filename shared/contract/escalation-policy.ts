/**
 * Escalation policies: who is notified step by step while nobody takes an alert on. The specification
 * knows none: a check without a policy escalates nothing.
 */
import { z } from 'zod';
import { pageOf, pathId, queryInstant, timestamp, timezone, updateOf } from './primitives.ts';
import { defineRoutes, get, post, remove, resourceOperations } from './route.ts';

const email = z.email().max(320);
const name = z.string().trim().min(1).max(255);

export const weekdays = [
  ...(['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'] as const),
] as const;

const step = z
  .object({
    delayMinutes: z.int().min(0).max(1440).default(0).meta({
      description: 'Minutes after the step before; for the first step, after the alert',
    }),
    alertChannelIds: z.array(z.int()).max(20).default([]).meta({
      description: 'Alert channels to notify, whatever they subscribe to',
    }),
    people: z.array(email).max(20).default([]).meta({
      description: 'E-mail addresses of people of the account',
    }),
    onCall: z.boolean().default(false).meta({
      description: 'Notifies who is on call by the rotation of this policy',
    }),
  })
  .refine(
    ({ alertChannelIds, people, onCall }) => alertChannelIds.length + people.length > 0 || onCall,
    'must notify a channel, a person or who is on call',
  )
  .meta({ example: { delayMinutes: 5, alertChannelIds: [1], people: [], onCall: false } });

/** Others are typing errors; the offsets of zones so far away are slow to find. */
const isNear = (text: string): boolean =>
  Date.parse(text) >= Date.UTC(2000) && Date.parse(text) < Date.UTC(2200);
const nearBound = 'must be from 2000 to 2199';
const instant = z.iso.datetime({ offset: true }).refine(isNear, nearBound);

const override = z
  .object({
    from: instant.meta({ example: '2099-12-24T08:00:00Z' }),
    until: instant.meta({ example: '2099-12-27T08:00:00Z' }),
    person: email,
  })
  .refine(({ from, until }) => Date.parse(from) < Date.parse(until), 'must end after it begins');

const rotation = z.object({
  people: z.array(email).min(1).max(50).meta({
    description: 'E-mail addresses in the order in which they take over, each for a week',
  }),
  timezone: timezone.default('UTC').meta({ description: 'Of the hand-over' }),
  handoverDay: z.enum(weekdays).default('MONDAY'),
  handoverTime: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 09:00')
    .default('09:00')
    .meta({ example: '09:00', description: 'Local time in `timezone`' }),
  startDate: z.iso.date().refine(isNear, nearBound).meta({
    example: '2099-01-04',
    description: 'The first person begins at the first hand-over on or after this day',
  }),
  overrides: z.array(override).max(100).default([]).meta({
    description: 'Who is on call in between; of several, the last in the list',
  }),
});
export type RotationFields = z.output<typeof rotation>;

const fields = {
  name,
  steps: z.array(step).min(1).max(10),
  repeats: z
    .int()
    .min(0)
    .max(10)
    .meta({ description: 'How often the steps begin again after the last one' })
    .default(0),
  rotation: rotation.nullable().meta({ example: null }).default(null),
};

export const escalationPolicy = z
  .object({
    ...fields,
    id: z.uuid(),
    onCall: z
      .object({
        now: z.object({ person: z.string(), until: timestamp.nullable() }).nullable(),
        next: z.object({ person: z.string(), from: timestamp }).nullable(),
      })
      .nullable()
      .meta({ description: 'Who is on call now and next; null without a rotation' }),
    usedBy: z.object({
      account: z.boolean().meta({
        description: 'Checks that alert by the settings of the account use it',
      }),
      groups: z.array(z.object({ id: z.int(), name: z.string() })),
      checks: z.array(z.object({ id: z.uuid(), name: z.string() })).meta({
        description: 'The first few that name it themselves',
      }),
      moreChecks: z.int(),
    }),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'EscalationPolicy' });

const shift = z.object({ person: z.string(), from: timestamp, until: timestamp });

const calendarLink = z.object({ url: z.url() }).meta({ id: 'OnCallCalendarLink' });

export const escalationPolicyRoutes = defineRoutes('Escalation policies', {
  ...resourceOperations('EscalationPolicy', '/v1/escalation-policies', {
    by: { id: pathId },
    response: escalationPolicy,
    list: pageOf(escalationPolicy),
    create: {
      description:
        'Checks, groups and accounts name it in `alertSettings.escalationPolicyId`. Its steps run until the alert is acknowledged, snoozed, muted or recovered.',
      body: z.object(fields),
      errors: [402],
    },
    read: { summary: 'Read an escalation policy, and who is on call' },
    update: {
      description: 'Alerts that escalate already go on with the steps that are left.',
      body: updateOf(fields),
      errors: [402],
    },
    remove: {
      summary: 'Delete an escalation policy that no check, no group and not the account uses',
      errors: [409],
    },
  }),
  listEscalationPolicyShifts: get(
    '/v1/escalation-policies/{id}/shifts',
    'List who is on call by the rotation of an escalation policy',
    {
      description:
        'From now on for four weeks, unless a range of at most a year is given. Shifts keep their start and end outside the range.',
      params: z.object({ id: pathId }),
      query: z.object({ from: queryInstant.exactOptional(), to: queryInstant.exactOptional() }),
      response: z
        .object({
          shifts: z.array(shift.extend({ isOverride: z.boolean() })).meta({
            description: 'Soonest first; empty without a rotation',
          }),
          turns: z.array(shift).meta({ description: 'Who would be on call without overrides' }),
        })
        .meta({ id: 'EscalationPolicyShifts' }),
    },
  ),
  getOnCallCalendarLink: get(
    '/v1/escalation-policies/{id}/calendar-link',
    'Read the link to the on-call calendar of an escalation policy',
    { role: 'READ_WRITE', params: z.object({ id: pathId }), response: calendarLink },
  ),
  createOnCallCalendarLink: post(
    '/v1/escalation-policies/{id}/calendar-link',
    'Create a link to the on-call calendar of an escalation policy',
    {
      description: 'For calendar programs, without a key. A link that was made before ends.',
      params: z.object({ id: pathId }),
      response: calendarLink,
    },
  ),
  deleteOnCallCalendarLink: remove(
    '/v1/escalation-policies/{id}/calendar-link',
    'Revoke the link to the on-call calendar of an escalation policy',
    { params: z.object({ id: pathId }) },
  ),
  getOnCallCalendar: get('/v1/on-call-calendars/{id}', 'Read shifts as an iCalendar feed', {
    description: 'Four weeks back and half a year ahead.',
    authentication: 'none',
    params: z.object({ id: pathId }),
    query: z.object({
      signature: z.string().max(100),
      person: z
        .string()
        .max(320)
        .exactOptional()
        .meta({ description: 'Shifts of this person alone' }),
    }),
    response: z.string(),
    contentType: 'text/calendar',
  }),
  useEscalationPolicyForAll: post(
    '/v1/escalation-policies/{id}/use-for-all',
    'Use an escalation policy for all checks',
    {
      description:
        'It becomes the one of the account, and of every check and group that alerts by settings of its own. Nothing else of these settings changes.',
      role: 'ADMIN',
      params: z.object({ id: pathId }),
      status: 200,
      response: escalationPolicy,
    },
  ),
});
