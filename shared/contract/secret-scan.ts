/** Credentials that stand readable in what an account has stored. Shape from the field's practice. spec: open */
import { z } from 'zod';
import { checkType } from './checks/index.ts';
import { defineRoutes, get } from './route.ts';

export const secretFinding = z
  .object({
    entityType: z.enum([
      ...(['CHECK', 'CHECK_GROUP', 'SNIPPET', 'ALERT_CHANNEL', 'ENVIRONMENT_VARIABLE'] as const),
    ]),
    entityId: z.string(),
    entityName: z.string().nullable(),
    checkType: checkType.nullable(),
    project: z.object({ logicalId: z.string(), name: z.string().nullable() }).nullable(),
    logicalId: z.string().nullable(),
    fieldPath: z.string().meta({ example: 'request.headers[2].value' }),
    fieldKey: z.string().nullable().meta({ description: 'The key of a header or a variable' }),
    valuePreview: z.string().nullable().meta({
      description: 'Its first characters, of a long one; never the whole',
    }),
  })
  .meta({ id: 'SecretFinding' });

export const secretScanRoutes = defineRoutes('Accounts', {
  scanSecrets: get(
    '/v1/secret-scans',
    'List values that look like credentials and are stored where others can read them',
    {
      description:
        'Of checks, groups, snippets, alert channels and variables of the account. Locked and secret values are left out. The first 1,000 are listed; `Content-Range` has how many there are.',
      role: 'READ_WRITE',
      rateLimit: { requests: 10, seconds: 60 },
      paged: true,
      response: z.array(secretFinding),
    },
  ),
});
