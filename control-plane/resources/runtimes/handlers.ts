/** Runtimes: a catalogue that comes with the program. */
import type { runtimeRoutes } from '@monitor/shared/contract/runtime.ts';
import { notFound } from '../../api-error.ts';
import type { Handlers } from '../../http/implement.ts';
import { runtimes } from './catalogue.ts';

export const runtimeHandlers: Handlers<typeof runtimeRoutes> = {
  listRuntimes: () => Promise.resolve([...runtimes]),
  getRuntime: ({ params }) => {
    const found = runtimes.find(({ name }) => name === params.id);
    return found === undefined
      ? Promise.reject(notFound('runtime', params.id))
      : Promise.resolve(found);
  },
};
