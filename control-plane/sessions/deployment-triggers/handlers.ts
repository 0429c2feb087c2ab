/** Deployment triggers: created, listed, deleted, and called by repositories. */
import type { RowOf } from '../../db/tables.ts';
import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import {
  deploymentRateLimit,
  type deploymentTrigger,
  type deploymentTriggerRoutes,
} from '@monitor/shared/contract/deployment-trigger.ts';
import type { Role, RouteInput } from '@monitor/shared/contract/route.ts';
import { hasMatch } from '@monitor/shared/domain/assertions.ts';
import { sha256Hex } from '../../core/keys.ts';
import { seesLockedValues } from '../../core/decide/hidden-values.ts';
import type { Services } from '../../core/services.ts';
import { fromJson, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { deleteOwnRows, ownRows } from '../../db/own-rows.ts';
import { invalidField, notFound } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';
import { checkOfTrigger, checksOfTrigger } from '../call-trigger.ts';
import { startSessions } from '../check-sessions.ts';
import { requireOwner } from '../check-triggers/handlers.ts';

type Row = RowOf<'deployment_triggers'>;
type Wire = z.input<typeof deploymentTrigger>;
type Settings = Pick<
  Wire,
  | ('provider' | 'repoName' | 'repoLink' | 'useEnvironmentUrl' | 'runLocation')
  | ('environmentRegexFilter' | 'environmentUrlRegexFilter')
>;
type Event = RouteInput<(typeof deploymentTriggerRoutes)['callDeploymentTrigger']>['body'];

/** Why an event starts nothing; null for one that does. */
function reasonAgainst(event: Event, row: Row, settings: Settings): string | null {
  const { deployment_status: status, repository } = event;
  if (status === undefined) return 'it is no deployment status';
  if (String(repository?.id) !== row.repo_id) return 'it is of another repository';
  if (status.state !== 'success') return 'the deployment has not succeeded';
  const { environmentRegexFilter: ofName, environmentUrlRegexFilter: ofUrl } = settings;
  if (ofName && !hasMatch(status.environment ?? '', ofName)) return 'the environment is another';
  if (ofUrl && !hasMatch(status.environment_url ?? '', ofUrl)) {
    return 'the URL of the environment is another';
  }
  return null;
}

/** Throws 400 for a filter that is no pattern. */
function requirePatterns(settings: Settings): void {
  for (const field of ['environmentRegexFilter', 'environmentUrlRegexFilter'] as const) {
    try {
      hasMatch('', settings[field] ?? '');
    } catch {
      throw invalidField(field, 'must be a regular expression without look-around');
    }
  }
}

export function deploymentTriggerHandlers(
  services: Services,
): Handlers<typeof deploymentTriggerRoutes> {
  const { db, clock, commits, publicUrl, secrets } = services;

  const toWire = (row: Row, role: Role): Wire => ({
    ...{ id: row.id, checkId: row.check_id, groupId: row.group_id, repoId: row.repo_id },
    ...fromJson<Settings>(row.settings_json),
    webhookUrl: seesLockedValues(role)
      ? `${publicUrl}/deployment-triggers/${secrets.decryptStored(row.token_encrypted, row.account_id)}`
      : null,
    called_at: toTimestampOrNull(row.called_at),
    created_at: toTimestamp(row.created_at),
    updated_at: toTimestampOrNull(row.updated_at),
  });

  return {
    listDeploymentTriggers: async (_input, { principal: { accountId, role } }) => {
      const rows = await ownRows(db, 'deployment_triggers', accountId).orderBy('id').execute();
      return rows.map((row) => toWire(row, role));
    },

    createDeploymentTrigger: async ({ body }, { principal, setStatus }) => {
      const { accountId, role } = principal;
      const { checkId, groupId, repoId, ...settings } = body;
      requirePatterns(settings);
      const token = randomBytes(24).toString('base64url');
      const { row, isNew } = await commits.run(async (unit) => {
        await requireOwner(
          unit,
          accountId,
          checkId === null ? { groupId: groupId ?? -1 } : { checkId },
        );
        const made = await unit
          .insertInto('deployment_triggers')
          .values({
            ...{ account_id: accountId, check_id: checkId, group_id: groupId, repo_id: repoId },
            ...{ token: sha256Hex(token), token_encrypted: secrets.encrypt(token, accountId) },
            settings_json: JSON.stringify(settings),
            ...{ created_at: clock.now(), called_at: null, updated_at: null },
          })
          .onConflict((conflict) => conflict.doNothing())
          .returningAll()
          .executeTakeFirst();
        if (made !== undefined) return { row: made, isNew: true };
        const owned = ownRows(unit, 'deployment_triggers', accountId);
        const there = await (
          checkId === null
            ? owned.where('group_id', '=', groupId)
            : owned.where('check_id', '=', checkId)
        ).executeTakeFirstOrThrow();
        return { row: there, isNew: false };
      });
      if (!isNew) setStatus(200);
      return toWire(row, role);
    },

    deleteDeploymentTrigger: async ({ params: { id } }, { principal: { accountId } }) => {
      const { numDeletedRows } = await deleteOwnRows(db, 'deployment_triggers', accountId)
        .where('id', '=', id)
        .executeTakeFirst();
      if (numDeletedRows === 0n) throw notFound('deployment trigger', String(id));
      return undefined;
    },

    callDeploymentTrigger: async ({ params: { token }, body }, call) => {
      const row = await db
        .selectFrom('deployment_triggers')
        .selectAll()
        .where('token', '=', sha256Hex(token))
        .executeTakeFirstOrThrow(() => notFound('deployment trigger', 'of this address'));
      call.limit(`deployment trigger ${row.id}`, deploymentRateLimit);
      const settings = fromJson<Settings>(row.settings_json);
      const reason = reasonAgainst(body, row, settings);
      if (reason !== null) return { started: 0, reason };
      await db
        .updateTable('deployment_triggers')
        .set({ called_at: clock.now() })
        .where('id', '=', row.id)
        .execute();
      const rows =
        row.check_id === null
          ? (await checksOfTrigger(db, row)).rows
          : [(await checkOfTrigger(db, row)).row];
      const { useEnvironmentUrl, runLocation } = settings;
      const environmentUrl = useEnvironmentUrl ? body.deployment_status?.environment_url : null;
      const started = await startSessions(services, rows, {
        source: 'DEPLOYMENT',
        ...(runLocation != null && { location: runLocation }),
        ...(environmentUrl != null && environmentUrl !== '' && { environmentUrl }),
      });
      return { started: started.length, reason: null };
    },
  };
}
