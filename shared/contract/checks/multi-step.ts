/** Multi-step check: a script of several requests. */
import { checkBodies, type AgentCheckType } from './check-type.ts';
import { responseTimeAnalytics } from './metric.ts';
import { scriptFields, scriptJudging, scriptTraits } from './scripted.ts';

export const multiStepCheck: AgentCheckType = {
  ...scriptTraits,
  pathPart: 'multistep',
  title: 'Multi-step check',
  label: 'Multi-step',
  target: '{scriptPath}',
  sample: { script: 'await 0;' },
  ...checkBodies('MULTI_STEP', scriptFields),
  resultField: 'multiStepCheckResult',
  analytics: {
    ...responseTimeAnalytics,
    operation: { path: 'multistep-checks', id: 'getMultistepCheckAnalytics' },
  },
  isRetried: true,
  maxRunMs: 240_000,
  runtime: 'always',
  browser: 'never',
  judging: scriptJudging,
};
