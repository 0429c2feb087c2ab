import findMyWay from 'find-my-way';
import type { Route } from '@monitor/shared/contract/route.ts';

type Router = ReturnType<typeof findMyWay>;

/** What a router gives: the place of the route in the list. */
export interface Found {
  place: number;
}

const routers = new Map<string, Router>();

/**
 * Finds the place of a route among these by method and path. Equal routes share a router: it takes longer to make than
 * all else of them.
 */
export function routerOf(routes: readonly { route: Route }[]): Router {
  const paths = routes.map(({ route: { method, path, hasEffects } }) => ({
    path: path.replace(/\{(\w+)\}/g, ':$1'),
    methods: method === 'GET' && hasEffects !== true ? [method, 'HEAD' as const] : [method],
  }));
  const key = JSON.stringify(paths);
  const known = routers.get(key);
  if (known !== undefined) return known;
  const router = findMyWay({ ignoreTrailingSlash: true, maxParamLength: 4096 });
  for (const [place, { path, methods }] of paths.entries()) {
    router.on(methods, path, () => undefined, { place } satisfies Found);
  }
  routers.set(key, router);
  return router;
}
