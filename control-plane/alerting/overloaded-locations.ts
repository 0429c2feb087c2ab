/** Locations with an agent that reports an overload. */
import type { Services } from '../core/services.ts';
import {
  checksWaitingIn,
  overloadedCode,
  overloadedForMs,
  overloadOf,
  quietForMs,
} from '../scheduling/index.ts';
import { type HealthCondition, unknownKind } from './agent-health.ts';

export function overloadedLocations({ db, reception }: Services): HealthCondition {
  return {
    name: 'watch-overload',
    everyMs: 20_000,
    owns: (code) => code === overloadedCode,
    look: async () => {
      const places = await db
        .selectFrom('agents')
        .select(['account_id as accountId', 'location'])
        .distinct()
        .where('overloaded_since', 'is not', null)
        .where('gone_at', 'is', null)
        .execute();
      return {
        suspects: places.map((place) => ({
          ...place,
          findings: async (unit) => {
            const overload = await overloadOf(unit, place);
            if (overload === null || reception.since(overload.since) < overloadedForMs) return [];
            const { since, reason } = overload;
            const checks = await checksWaitingIn(unit, place);
            return [{ code: overloadedCode, since, runs: 0, kind: unknownKind(reason), checks }];
          },
        })),
        endOf: async (unit, alert) => {
          const overload = await overloadOf(unit, alert);
          if (overload === null) return { isConclusive: true };
          const { endedAt } = overload;
          const isOver = endedAt !== null && reception.since(endedAt) >= quietForMs;
          return isOver ? { isConclusive: true } : null;
        },
      };
    },
  };
}
