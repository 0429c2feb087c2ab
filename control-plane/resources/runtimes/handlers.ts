/** Runtimes: a catalogue that comes with the program. */
import { runtimes } from '@monitor/shared/contract/runtime-catalogue.ts';
import type { runtimeRoutes } from '@monitor/shared/contract/runtime.ts';
import { notFound } from '../../api-error.ts';
import type { Handlers } from '../../http/implement.ts';

export const runtimeHandlers: Handlers<typeof runtimeRoutes> = {
  listRuntimes: () => Promise.resolve([...runtimes]),
  getRuntime: ({ params }) => {
    const found = runtimes.find(({ name }) => name === params.id);
    return found === undefined
      ? Promise.reject(notFound('runtime', params.id))
      : Promise.resolve(found);
  },
};
