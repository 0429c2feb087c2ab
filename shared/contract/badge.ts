/** Badges: pictures of the state of a check or a group, public for anyone with the URL. */
import { z } from 'zod';
import { pathId, queryBoolean } from './primitives.ts';
import { defineRoutes, get } from './route.ts';

const query = z.object({
  style: z.enum(['flat', 'plastic', 'flat-square', 'for-the-badge', 'social']).default('flat'),
  theme: z.enum(['light', 'dark', 'default']).default('default'),
  responseTime: queryBoolean.default(false),
});
const description = 'Answers 404 unless the account has badges switched on.';

export const badgeRoutes = defineRoutes('Badges', {
  getCheckBadge: get('/v1/badges/checks/{checkId}', 'The state of a check as an SVG picture', {
    description,
    authentication: 'none',
    params: z.object({ checkId: pathId }),
    query,
    response: z.string(),
    contentType: 'image/svg+xml',
  }),
  getGroupBadge: get(
    '/v1/badges/groups/{groupId}',
    'The worst state among the checks of a group as an SVG picture',
    {
      description,
      authentication: 'none',
      params: z.object({
        groupId: pathId.meta({ description: '`badgeToken` of the group, not its id' }),
      }),
      query,
      response: z.string(),
      contentType: 'image/svg+xml',
    },
  ),
});
