/** Multi-step check: a script of several requests. */
import { checkBodies, type CheckTypeDefinition } from './check-type.ts';
import { scriptFields, scriptJudging } from './scripted.ts';

export const multiStepCheck: CheckTypeDefinition = {
  pathPart: 'multistep',
  title: 'Multi-step check',
  ...checkBodies('MULTI_STEP', scriptFields),
  resultField: 'multiStepCheckResult',
  variables: 'all',
  isRetried: true,
  longestRunMs: 240_000,
  runtime: 'always',
  browser: 'never',
  judging: scriptJudging,
};
