/** Runtimes: a catalogue that is part of the program. */
import { runtimes } from '@monitor/shared/contract/runtime-catalogue.ts';
import { substitutions } from '@monitor/shared/contract/runtime-substitutions.ts';
import type { Runtime, runtimeRoutes } from '@monitor/shared/contract/runtime.ts';
import { notFound } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';

/** The packages of an installation: some versions are substituted, some packages left out. */
function asInstalled(runtime: (typeof runtimes)[number]): Runtime {
  const exchanged = new Map(
    (substitutions[runtime.name] ?? []).map((each) => [each.package, each.instead]),
  );
  const dependencies = Object.entries(runtime.dependencies).flatMap(([name, wanted]) => {
    const version = exchanged.get(name);
    return version === null ? [] : [[name, version ?? wanted]];
  });
  return { ...runtime, dependencies: Object.fromEntries(dependencies) as Runtime['dependencies'] };
}

export const runtimeHandlers: Handlers<typeof runtimeRoutes> = {
  listRuntimes: () => Promise.resolve(runtimes.map(asInstalled)),
  getRuntime: ({ params }) => {
    const found = runtimes.find(({ name }) => name === params.id);
    return found === undefined
      ? Promise.reject(notFound('runtime', params.id))
      : Promise.resolve(asInstalled(found));
  },
};
