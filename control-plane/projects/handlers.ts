/** Deploys and destroys projects. */
import { Readable } from 'node:stream';
import type {
  DeploymentWire,
  ProjectBody,
  projectRoutes,
} from '@monitor/shared/contract/compatibility/projects.ts';
import type { Services } from '../core/services.ts';
import { ApiError } from '../errors/api-error.ts';
import { asStream } from '../http/answer.ts';
import type { Handlers } from '../http/handlers.ts';
import { notKept } from '../http/validate.ts';
import { deployProject, destroyProject } from './deploy-project.ts';
import type { Deployments } from './deployments.ts';
import { exportAccount } from './export-account.ts';
import { findProject } from './store.ts';

const keepAliveMs = 15_000;

const frame = (event: string, data: unknown): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** The events of a deployment, with a comment whenever there were none for a while. */
async function* eventsOf(
  { clock }: Pick<Services, 'clock'>,
  states: AsyncGenerator<DeploymentWire, void>,
): AsyncGenerator<string, void> {
  yield ': deployment\n\n';
  let next = states.next();
  for (;;) {
    const { promise: quiet, resolve } = Promise.withResolvers<null>();
    const cancel = clock.after(keepAliveMs, () => {
      resolve(null);
    });
    const step = await Promise.race([next, quiet]).finally(cancel);
    if (step === null) {
      yield ': keep-alive\n\n';
      continue;
    }
    if (step.done === true) return;
    const { endedAt, progress } = step.value;
    if (endedAt !== null) {
      const { warnings = [] } = step.value.result ?? {};
      for (const message of warnings) yield frame('warning', { message });
      yield frame('complete', step.value);
      return;
    }
    yield frame('progress', { progress });
    next = states.next();
  }
}

export function projectHandlers(
  services: Services,
  deployments: Deployments,
): Handlers<typeof projectRoutes> {
  return {
    deployProject: async ({ query, body }, context) => {
      const { principal, address, bodyBytes: bytes, setStatus, afterNote } = context;
      const project: ProjectBody = body;
      const { dryRun, ...given } = query;
      const options = { ...given, address, ignored: notKept(context.ignored, null) };
      if (dryRun) {
        setStatus(200);
        return deployProject(services, principal, project, { ...options, dryRun });
      }
      const { logicalId } = project.project;
      const { accountId } = principal;
      return deployments.submit({ accountId, logicalId, bytes, afterNote }, (watched) =>
        deployProject(services, principal, project, { ...options, ...watched }),
      );
    },

    exportProject: ({ query }, { principal: { accountId } }) =>
      exportAccount({ services, accountId }, query),

    deleteProject: async ({ params: { logicalId }, query }, context) => {
      const { principal, address, setStatus, afterNote } = context;
      const { dryRun, preserveResources } = query;
      const destroy = (options: object) =>
        destroyProject(services, principal, logicalId, { preserveResources, address, ...options });
      const project = await findProject(services.db, principal.accountId, logicalId);
      if (dryRun || project === undefined) {
        setStatus(200);
        return destroy({ dryRun: true });
      }
      const { accountId } = principal;
      return deployments.submit({ accountId, logicalId, bytes: 0, afterNote }, destroy);
    },

    deployProjectAtOnce: ({ query, body }, { principal, address, ignored }) =>
      deployProject(services, principal, body, {
        ...{ ...query, address, ignored: notKept(ignored, null) },
      }),

    deleteProjectAtOnce: ({ params: { logicalId }, query }, { principal, address }) =>
      destroyProject(services, principal, logicalId, { ...query, address }),

    getDeployment: ({ params: { logicalId, deploymentId } }, { principal }) =>
      deployments.read(principal.accountId, logicalId, deploymentId),

    streamDeployment: async ({ params: { logicalId, deploymentId } }, { principal, signal }) => {
      const { accountId } = principal;
      // An unknown one is refused before the stream begins.
      await deployments.read(accountId, logicalId, deploymentId);
      const states = deployments.watch(accountId, logicalId, deploymentId, signal);
      return asStream(Readable.from(eventsOf(services, states)), {
        'Cache-Control': 'no-cache, no-transform',
        'X-Accel-Buffering': 'no',
      });
    },

    awaitDeployment: async ({ params: { logicalId, deploymentId }, query }, context) => {
      const { accountId } = context.principal;
      const until = new AbortController();
      const cancel = services.clock.after(query.maxWaitSeconds * 1_000, () => {
        until.abort();
      });
      const signal = AbortSignal.any([until.signal, context.signal]);
      try {
        for await (const state of deployments.watch(accountId, logicalId, deploymentId, signal)) {
          if (state.endedAt !== null) return state;
        }
      } finally {
        cancel();
      }
      throw new ApiError('REQUEST_TIMEOUT', 'the deployment is in progress; ask again');
    },

    cancelDeployment: ({ params: { logicalId, deploymentId } }, { principal }) =>
      deployments.cancel(principal.accountId, logicalId, deploymentId),
  };
}
