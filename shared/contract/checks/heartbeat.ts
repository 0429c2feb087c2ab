/** Heartbeat monitor: it receives pings of a job and never runs on an agent. */
import { z } from 'zod';
import { sensitive } from '../sensitive.ts';
import { readCron } from '../../domain/cron.ts';
import { timezone } from '../primitives.ts';
import { checkBodies, monitorTraits, type PingedCheckType } from './check-type.ts';

const unitSeconds = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 } as const;
const unit = z.enum(['seconds', 'minutes', 'hours', 'days']);
export type HeartbeatUnit = z.infer<typeof unit>;

/** Duration of so many units, in whole milliseconds. `(6, 'hours')` is 21,600,000. */
export function heartbeatDurationMs(amount: number, of: HeartbeatUnit): number {
  return Math.round(amount * unitSeconds[of] * 1000);
}

const yearMs = heartbeatDurationMs(365, 'days');

/** Period 30 s to 365 days or a schedule of cron, grace 0 to 365 days. spec: open */
export const heartbeatSettings = z
  .object({
    period: z
      .number()
      .min(0)
      .default(0)
      .meta({ description: 'Required without `cron`, which it gives way to', example: 1 }),
    periodUnit: unit.default('days').meta({ example: 'days' }),
    grace: z.number().min(0).meta({ example: 10 }),
    graceUnit: unit.meta({ example: 'minutes' }),
    cron: z.string().max(200).exactOptional().meta({
      description:
        'When the job runs: minute, hour, day of month, month, day of week. Empty: every `period`',
      example: '30 2 * * MON-FRI',
    }),
    timezone: timezone.or(z.literal('')).exactOptional().meta({
      description: 'Of `cron`; empty: UTC',
      example: 'Europe/Berlin',
    }),
    pingToken: sensitive(
      'secret',
      z
        .string()
        .regex(
          /^([A-Za-z0-9_-]{12,64})?$/,
          'must be 12 to 64 letters, digits, hyphens or underscores',
        ),
    )
      .exactOptional()
      .meta({
        description: 'Chosen when absent or empty; a change without it keeps it',
        example: 'nightly-backup-7f3a',
      }),
  })
  .superRefine((settings, context) => {
    const { cron = '', timezone: zone = '' } = settings;
    const problem = cron === '' ? null : readCron(cron);
    if (problem !== null && 'problem' in problem) {
      context.addIssue({ code: 'custom', path: ['cron'], message: problem.problem });
    }
    if (cron === '' && zone !== '') {
      const message = 'must be empty without "cron", whose time zone it is';
      context.addIssue({ code: 'custom', path: ['timezone'], message });
    }
    const periodMs = heartbeatDurationMs(settings.period, settings.periodUnit);
    const isPeriodic = cron === '' || settings.period !== 0;
    if (isPeriodic && (periodMs < 30_000 || periodMs > yearMs)) {
      context.addIssue({
        code: 'custom',
        path: ['period'],
        message: 'must be between 30 seconds and 365 days',
      });
    }
    if (heartbeatDurationMs(settings.grace, settings.graceUnit) > yearMs) {
      context.addIssue({ code: 'custom', path: ['grace'], message: 'must be at most 365 days' });
    }
  })
  .meta({ id: 'HeartbeatSettings' });
export type HeartbeatSettings = z.output<typeof heartbeatSettings>;

export const heartbeatMonitor: PingedCheckType = {
  runsOn: 'control-plane',
  pathPart: 'heartbeat',
  title: 'Heartbeat monitor',
  label: 'Heartbeat',
  target: '',
  sample: { heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' } },
  ...checkBodies(
    'HEARTBEAT',
    { heartbeat: heartbeatSettings },
    { heartbeat: heartbeatSettings.safeExtend({ pingToken: z.string(), pingUrl: z.string() }) },
  ),
  ...monitorTraits,
  analytics: {
    operation: { path: 'heartbeat-checks', id: 'getHeartbeatCheckAnalytics' },
    metrics: [],
    defaultMetric: 'availability',
    groupBy: [],
    statuses: ['FAILING', 'EARLY', 'RECEIVED', 'GRACE', 'LATE'],
    figures: [],
    chart: { time: null, parts: [], isStacked: false },
  },
  degradedBy: 'own-rules',
  judging: null,
};
