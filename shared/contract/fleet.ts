/** Agents and their locations, for operators. */
import { z } from 'zod';
import { locationStand } from './private-location.ts';
import { timestamp } from './primitives.ts';
import { defineRoutes, get } from './route.ts';

export const fleetAgent = z
  .object({
    id: z.uuid(),
    location: z.string(),
    hostName: z.string().nullable().meta({
      description: 'Of its machine or container; null for agents that do not report it',
    }),
    version: z.string(),
    isServing: z.boolean(),
    startedAt: timestamp,
    lastSeenAt: timestamp,
    goneAt: timestamp.nullable().meta({ description: 'When it left or was given up' }),
    running: z.int().meta({ description: 'Runs in progress at its last check-in' }),
    capacity: z.object({ light: z.int(), heavy: z.int() }).meta({
      description: 'Runs at the same time: of monitors, and of scripts and browsers',
    }),
    outbox: z
      .object({ depth: z.int(), oldestAt: timestamp.nullable(), droppedTotal: z.int() })
      .meta({
        description:
          'Results that have not been accepted yet; `droppedTotal` are those that were dropped, or refused and set aside',
      }),
    clockOffsetMs: z.number().nullable().meta({
      description: 'The clock of the control plane minus that of the agent',
    }),
    clockUncertaintyMs: z.number().nullable().meta({
      description:
        'How wrong that can be: half of the time that the way took; null where the agent does not say',
    }),
    load: z
      .object({
        overloadedSince: timestamp.nullable(),
        reason: z.string().nullable(),
        cpuWaitRatio: z.number().nullable().meta({
          description: 'Share of the time in which it waited for a processor, 0 to 1',
        }),
        lastSuspension: z.object({ endedAt: timestamp, lastedMs: z.number() }).nullable(),
      })
      .nullable()
      .meta({ description: 'Load of the agent; null for agents that do not report it' }),
    capabilities: z.object({
      checkTypes: z.array(z.string()),
      runtimes: z.array(z.string()),
      icmp: z.string(),
      capture: z.boolean(),
      traceroute: z.boolean(),
      browsers: z.array(z.string()),
    }),
  })
  .meta({ id: 'Agent' });
export type FleetAgent = z.input<typeof fleetAgent>;

export const locationState = z
  .object({
    location: z.string(),
    name: z.string(),
    privateLocationId: z.uuid().nullable(),
    checkCount: z.int().meta({ description: 'Activated checks that run there' }),
    agentCount: z.int().meta({ description: 'Agents that serve it now' }),
    ...locationStand.shape,
    servedSince: timestamp.nullable(),
    unservedSince: timestamp.nullable().meta({
      description: 'Null while an agent serves it, and before the first agent',
    }),
    overloadedSince: timestamp.nullable().meta({
      description:
        'Since when an agent there is overloaded: times measured there include its own waiting',
    }),
    overloadReason: z.string().nullable(),
    faults: z
      .array(
        z.object({
          code: z.string().nullable().meta({
            description:
              'Of the errors; null when nothing but errors comes from the location, NO_RESULTS when checks have had no result for three periods',
          }),
          since: timestamp,
          runs: z.int(),
          checkCount: z.int(),
          mostCommonCode: z.string().nullable(),
          message: z.string().nullable().meta({
            description: 'The newest sentence of the most common error',
          }),
        }),
      )
      .meta({
        description:
          'Checks that have had nothing but agent errors for ten minutes and three runs, or an hour and two: nothing is known about their targets from here',
      }),
    waitingRuns: z.int().meta({ description: 'Runs on demand that no agent has begun' }),
    oldestWaitingSeconds: z.number(),
  })
  .meta({ id: 'LocationState' });
export type LocationState = z.input<typeof locationState>;

const interruption = z
  .object({
    cause: z
      .enum(['stopped', 'machine-suspended', 'down', 'disk-full', 'database-away', 'clock-step'])
      .meta({ description: 'Cause of the gap in reception, or a step of the clock' }),
    from: timestamp.meta({ description: 'The last instant before it' }),
    to: timestamp.meta({ description: 'The first instant after it; earlier after a step back' }),
    lostMs: z.number().meta({ description: 'Lost time, which no deadline counts; 0 for a step' }),
    stepMs: z.number().meta({ description: 'Size of the step of the clock; 0 for a gap' }),
  })
  .meta({ id: 'Interruption' });
export type Interruption = z.input<typeof interruption>;

export const fleetRoutes = defineRoutes('Agents', {
  listAgents: get('/v1/agents', 'List the agents of all locations with their state', {
    description: 'Agents that left are listed for a day.',
    response: z.array(fleetAgent),
  }),
  listLocationStates: get(
    '/v1/location-states',
    'List the locations that checks or agents use, and whether agents serve them',
    { response: z.array(locationState) },
  ),
  listInterruptions: get('/v1/interruptions', 'List gaps in reception and steps of the clock', {
    description:
      'The newest 100, newest first. Deadlines of heartbeats, escalations, leases and notices do not count this time.',
    response: z.object({
      clockProblem: z.string().nullable().meta({
        description: "Current problem of the control plane's clock; null without one",
      }),
      interruptions: z.array(interruption),
    }),
  }),
});
