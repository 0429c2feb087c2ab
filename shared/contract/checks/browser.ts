/** Browser check: a script that drives a browser. Spec: Browser check (`checkType` BROWSER). */
import { z } from 'zod';
import { checkBodies, type CheckTypeDefinition } from './check-type.ts';
import { scriptFields, scriptJudging } from './scripted.ts';

const domainName =
  /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/i;

export const browserCheck: CheckTypeDefinition = {
  pathPart: 'browser',
  title: 'Browser check',
  ...checkBodies('BROWSER', {
    ...scriptFields,
    sslCheckDomain: z
      .union([z.literal(''), z.string().regex(domainName, 'must be a fully qualified domain name')])
      .nullable()
      .default(null),
  }),
  resultField: 'browserCheckResult',
  variables: 'all',
  isRetried: true,
  longestRunMs: 240_000,
  runtime: 'always',
  browser: 'always',
  judging: scriptJudging,
};
