/** Agentic check: a language model carries out a prompt. Shape from the field. spec: open */
import { z } from 'zod';
import { frequencies } from '../check.ts';
import { checkBodies, type AgentCheckType } from './check-type.ts';
import { responseTimeAnalytics } from './metric.ts';
import { scriptedScheduleFields, scriptJudging, scriptTraits } from './scripted.ts';

export const agenticCheck: AgentCheckType = {
  ...scriptTraits,
  pathPart: 'agentic',
  title: 'Agentic check',
  label: 'Agentic',
  target: '',
  sample: { prompt: 'Look at the front page.' },
  ...checkBodies('AGENTIC', {
    ...scriptedScheduleFields,
    /** Every run may cost money, so the shortest period is five minutes. */
    frequency: z
      .literal(frequencies.filter((minutes) => minutes >= 5))
      .meta({ example: 60 })
      .default(60),
    prompt: z.string().min(1).max(10_000),
    agentRuntime: z
      .object({ skills: z.array(z.string().min(1).max(255)).max(20).default([]) })
      .nullable()
      .default({ skills: [] }),
  }),
  learnsScripts: true,
  resultField: 'agenticCheckResult',
  analytics: { ...responseTimeAnalytics, operation: null },
  // A run may cost money.
  isRetried: false,
  maxRunMs: 10 * 60_000,
  runtime: 'never',
  browser: 'always',
  judging: scriptJudging,
};
